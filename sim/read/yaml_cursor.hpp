#pragma once
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/base/fields.hpp"
#include "sim/base/quantity.hpp"
#include "sim/read/text_file.hpp"

namespace pipecast {

/// Bounds of a YAML file beside kMaxYamlBytes; aliases count as often as they are used.
inline constexpr int kMaxYamlDepth = 64;
inline constexpr std::size_t kMaxYamlNodes = std::size_t{2} << 20;

enum class YamlKind : std::uint8_t {
  Null,  ///< a key with nothing behind it, or `~`
  Scalar,
  List,
  Map,
};

/// Where a node was written. Aliased nodes keep the place of their anchor.
struct YamlMark {
  std::int32_t source = 0;  ///< 0 is the file, then one per override
  std::int32_t line = 0;    ///< from 1
  std::int32_t column = 0;
  std::int32_t length = 1;
};

struct YamlEntry;

/// A parsed node. Scalars are text: what they mean is decided by whoever reads them.
struct YamlNode {
  YamlKind kind = YamlKind::Null;
  std::int32_t alias_line = 0;  ///< line of the alias that put the node here; 0: none did
  YamlMark mark;
  std::string text;                ///< Scalar
  std::vector<YamlNode> items;     ///< List
  std::vector<YamlEntry> entries;  ///< Map, in the order of the file, keys unique
};

struct YamlEntry {
  std::string key;
  YamlMark mark;
  YamlNode value;
};

/// A text that nodes were read from.
struct YamlSource {
  std::string file;
  LinedText text;
};

/// One parsed file with the overrides put over it.
struct YamlDocument {
  std::vector<YamlSource> sources;
  YamlNode root;

  SourceSpan span(const YamlMark& mark) const;
};

/// A document without nodes that knows its text, for every reader that makes one. Checks size and
/// encoding; `text` loses a byte-order mark.
Result<YamlDocument> document_of(std::string_view& text, const std::string& file);

/// Text → nodes, or every fault of its form: what YAML refuses, duplicate keys (both lines are
/// named), merge keys, tags, keys that are not text, more than one document, unclosed quotes, and
/// the bounds above. No exception leaves. O(bytes).
Result<YamlDocument> parse_yaml(std::string_view text, const std::string& file);

/// `--set key.path=value`: puts `value` (YAML text) where the dotted path points; maps on the way
/// are made, list elements are numbered from 0. Complaints about the value point into the option.
Diagnostics override_yaml(YamlDocument& document, const std::string& key_path,
                          const std::string& value);

/// Where a reader stands: a node, its key path, and the list that collects the faults of the file.
/// Every question that the node cannot answer adds one fault and returns nothing, so a reader asks
/// for all it wants and looks at the list once, at the end. Document and list must outlive it.
class YamlCursor {
 public:
  static YamlCursor root(const YamlDocument& document, FaultList& faults);

  YamlKind kind() const { return node_->kind; }
  bool is_list() const { return node_->kind == YamlKind::List; }
  bool is_map() const { return node_->kind == YamlKind::Map; }
  /// The node itself, for a reader that keeps it to put it elsewhere.
  const YamlNode& node() const { return *node_; }
  /// Dotted path from the root, `workload.costs.forward.3`; empty for the root.
  const std::string& path() const { return path_; }
  /// Last part of the path.
  std::string_view key() const;
  /// The value; for an empty value its key.
  SourceSpan where() const;
  /// The key; for the root and list elements the value.
  SourceSpan key_where() const;

  void fault(std::string message, std::string hint = {}) const;
  void fault_at_key(std::string message, std::string hint = {}) const;

  /// The node is a map whose keys are all among `allowed`; each other key is a fault with a
  /// suggestion.
  bool expect_map(std::span<const std::string> allowed) const;
  bool expect_map(std::initializer_list<std::string_view> allowed) const;
  bool has(std::string_view key) const;
  /// The value of a key; nothing when it is left out. An empty value is a fault.
  std::optional<YamlCursor> find(std::string_view key) const;
  /// The same, and leaving it out is a fault at the map, naming the key.
  std::optional<YamlCursor> require(std::string_view key, std::string hint = {}) const;
  /// Values of a map or elements of a list, in the order of the file.
  std::vector<YamlCursor> children() const;
  std::size_t size() const;
  /// Element of a list, without the cost of children().
  YamlCursor item(std::size_t index) const;

  std::optional<std::string> text() const;
  std::optional<std::int64_t> integer(std::int64_t minimum, std::int64_t maximum) const;
  std::optional<std::string> choice(std::span<const std::string> words) const;
  std::optional<FieldValue> field(const FieldInfo& field) const;

  /// A map of parameters: every field of the table that is given, checked against it; the others at
  /// their default, which is a fault where the default is out of bounds (a parameter that must be
  /// given). Keys in `also` are left alone, all others are faults.
  FieldValues fields(std::span<const FieldInfo> table,
                     std::initializer_list<std::string_view> also = {}) const;

 private:
  YamlCursor(const YamlDocument& document, FaultList& faults, const YamlNode& node,
             const YamlMark* key_mark, std::string path, std::int32_t alias_line);

  YamlCursor child(const YamlEntry& entry) const;
  std::string with_alias(std::string hint) const;

  const YamlDocument* document_;
  FaultList* faults_;
  const YamlNode* node_;
  const YamlMark* key_mark_;  ///< null for the root and list elements
  std::string path_;
  std::int32_t alias_line_;
};

/// The keys of every map of the document, `pipeline.ranks` → its place, for complaints that come
/// after reading. List elements are not listed.
std::vector<std::pair<std::string, SourceSpan>> key_spans(const YamlDocument& document);

}  // namespace pipecast

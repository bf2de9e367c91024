#include "sim/read/yaml_cursor.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "sim/read/yaml_tree.hpp"

namespace pipecast {
namespace {

/// Bytes of scalars, counted as often as aliases repeat them.
constexpr std::size_t kMaxScalarBytes = 4 * kMaxYamlBytes;

/// Ends a parse whose fault has been reported; never leaves this file.
struct Stop {};

/// Builds YamlNodes from the parser's events: they come one by one, so every bound holds while the
/// file is read, and aliases, tags and repeated keys are still visible.
class NodeBuilder : public YAML::EventHandler {
 public:
  NodeBuilder(const YamlSource& source, std::int32_t source_index, std::int32_t shift,
              FaultList& faults)
      : source_(source), source_index_(source_index), shift_(shift), faults_(faults) {}

  YamlNode take_root() { return std::move(root_); }

  /// The innermost list or map that is still open.
  std::optional<YamlMark> open_mark() const {
    if (open_.empty()) return std::nullopt;
    return open_.back().node.mark;
  }

  YamlMark mark_at(const YAML::Mark& mark, std::size_t length = 1) const {
    const int line = std::max(mark.line, 0) + 1;
    const int column = std::max(mark.column, 0) + 1 + (line == 1 ? shift_ : 0);
    return {source_index_, line, column,
            static_cast<std::int32_t>(std::max<std::size_t>(length, 1))};
  }

  void report(const YamlMark& mark, std::string message, std::string hint = {}) {
    if (faults_.full()) return faults_.add_hidden();
    faults_.add(input_error(
        std::move(message), std::move(hint),
        text_span(source_.file, mark.line, mark.column, static_cast<std::size_t>(mark.length),
                  source_.text.line(mark.line))));
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    report(mark_at(mark), "a second document begins here; a file holds one");
    throw Stop{};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node;
    node.mark = mark_at(mark);
    finish(std::move(node), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node;
    node.kind = YamlKind::Scalar;
    node.text = value;
    node.mark = mark_at(mark);
    skip_properties(node.mark);
    node.mark.length = scalar_length(node.mark, value, tag == "!");
    refuse_tag(node.mark, tag);
    finish(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const YamlMark where = mark_at(mark);
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      report(where, "the alias stands inside its own anchor");
      throw Stop{};
    }
    const YamlExtent size = extent(found->second);
    if (open_.size() + size.height >= kMaxYamlDepth) too_deep(where);
    count(size, where);
    YamlNode node = found->second;
    node.alias_line = where.line;
    attach(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlKind::List, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlKind::Map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    bool keep = true;  ///< the entry whose key was just read is wanted
    std::string key;
    YamlMark key_mark;
    std::map<std::string, int, std::less<>> lines;  ///< line of each key so far
  };

  void too_deep(const YamlMark& mark) {
    report(mark, fmt::format("nested deeper than {} levels", kMaxYamlDepth));
    throw Stop{};
  }

  void count(const YamlExtent& more, const YamlMark& mark) {
    nodes_ += more.nodes;
    bytes_ += more.bytes;
    if (nodes_ <= kMaxYamlNodes && bytes_ <= kMaxScalarBytes) return;
    report(mark,
           nodes_ > kMaxYamlNodes
               ? fmt::format("more than {} values in one file", kMaxYamlNodes)
               : fmt::format("aliases repeat more than {} MiB of text", kMaxScalarBytes >> 20));
    throw Stop{};
  }

  void refuse_tag(const YamlMark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    constexpr std::string_view kStandard = "tag:yaml.org,2002:";
    const std::string word = tag.starts_with(kStandard) ? "!!" + tag.substr(kStandard.size()) : tag;
    report(mark, fmt::format("the tag '{}' has no meaning here", shown(word)), "leave the tag out");
  }

  void open(YamlKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    Open level;
    level.node.kind = kind;
    level.node.mark = mark_at(mark);
    level.anchor = anchor;
    refuse_tag(level.node.mark, tag);
    if (open_.size() >= kMaxYamlDepth) too_deep(level.node.mark);
    open_.push_back(std::move(level));
  }

  void close() {
    Open level = std::move(open_.back());
    open_.pop_back();
    finish(std::move(level.node), level.anchor);
  }

  void finish(YamlNode node, YAML::anchor_t anchor) {
    count({1, node.text.size(), 0}, node.mark);
    if (anchor != 0) {
      count(extent(node), node.mark);
      anchors_[anchor] = node;
    }
    attach(std::move(node));
  }

  void attach(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& level = open_.back();
    if (level.node.kind == YamlKind::List) {
      level.node.items.push_back(std::move(node));
      return;
    }
    if (!level.has_key) {
      take_key(level, std::move(node));
      return;
    }
    level.has_key = false;
    if (level.keep)
      level.node.entries.push_back({std::move(level.key), level.key_mark, std::move(node)});
  }

  void take_key(Open& level, YamlNode node) {
    if (node.kind != YamlKind::Scalar || node.alias_line > 0) {
      report(node.mark, "a key must be plain text");
      throw Stop{};
    }
    level.has_key = true;
    level.key = std::move(node.text);
    level.key_mark = node.mark;
    const auto [earlier, is_new] = level.lines.try_emplace(level.key, node.mark.line);
    level.keep = is_new && level.key != "<<";
    if (level.key == "<<")
      report(node.mark, "merge keys '<<' are not supported",
             "write the keys out, or use an alias for a whole value: `key: *anchor`");
    else if (!is_new)
      report(node.mark, fmt::format("'{}' is given twice; the first is on line {}",
                                    shown(level.key), earlier->second));
  }

  std::string_view rest_of_line(const YamlMark& mark) const {
    const std::string_view line = source_.text.line(mark.line);
    return line.substr(std::min(static_cast<std::size_t>(mark.column) - 1, line.size()));
  }

  /// The parser's mark of an anchored scalar is its anchor; ours is the value.
  void skip_properties(YamlMark& mark) const {
    std::string_view rest = rest_of_line(mark);
    while (rest.starts_with('&') || rest.starts_with('!')) {
      const std::size_t blank = rest.find_first_of(" \t");
      const std::size_t value = rest.find_first_not_of(" \t", blank);
      if (blank == std::string_view::npos || value == std::string_view::npos) return;
      mark.column += static_cast<std::int32_t>(value);
      rest.remove_prefix(value);
    }
  }

  /// Bytes the scalar takes on its first line. Finds the closing quote too, because the parser
  /// takes the end of the file for one.
  std::int32_t scalar_length(const YamlMark& mark, const std::string& value, bool quoted) {
    const std::string_view rest = rest_of_line(mark);
    if (!quoted || rest.empty() || (rest.front() != '"' && rest.front() != '\''))
      return static_cast<std::int32_t>(
          rest.starts_with(value) ? std::max<std::size_t>(value.size(), 1) : 1);
    const std::string& text = source_.text.text();
    const std::size_t begin = static_cast<std::size_t>(rest.data() - text.data());
    const std::size_t end = closing_quote(text, begin);
    if (end == std::string::npos) {
      report(mark, "the quotation mark is never closed");
      throw Stop{};
    }
    return static_cast<std::int32_t>(std::min(end - begin + 1, rest.size()));
  }

  static std::size_t closing_quote(const std::string& text, std::size_t begin) {
    const char quote = text[begin];
    for (std::size_t i = begin + 1; i < text.size(); ++i) {
      const bool doubled = i + 1 < text.size() && text[i] == quote && text[i + 1] == quote;
      const bool escaped = quote == '"' ? text[i] == '\\' : doubled;
      if (escaped)
        ++i;
      else if (text[i] == quote)
        return i;
    }
    return std::string::npos;
  }

  const YamlSource& source_;
  std::int32_t source_index_;
  std::int32_t shift_;
  FaultList& faults_;
  YamlNode root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
  int documents_ = 0;
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The parser's complaint in words for a user, at the place that helps most.
void report_refusal(NodeBuilder& builder, const YamlSource& source,
                    const YAML::Exception& refusal) {
  const YamlMark mark = builder.mark_at(refusal.mark);
  const std::string_view line = source.text.line(mark.line);
  const auto tab = line.substr(0, line.find_first_not_of(" \t")).find('\t');
  const std::string& message = refusal.msg;
  if (tab != std::string_view::npos) {
    YamlMark at = mark;
    at.column = static_cast<std::int32_t>(tab) + 1;
    builder.report(at, "a tab indents this line", "indent with blanks");
  } else if (has(message, "flow not found")) {
    const bool list = has(message, "sequence");
    builder.report(builder.open_mark().value_or(mark),
                   list ? "the list is never closed" : "the map is never closed",
                   list ? "add ']'" : "add '}'");
  } else if (has(message, "end of map not found") || has(message, "end of sequence not found")) {
    builder.report(mark, "this does not continue the block above", "check the indentation");
  } else if (has(message, "illegal map value")) {
    builder.report(mark, "a ':' cannot stand here",
                   "check the indentation; a text that holds ': ' needs quotes");
  } else if (has(message, "illegal block entry")) {
    builder.report(mark, "a list element '-' cannot stand here");
  } else if (has(message, "illegal EOF in scalar")) {
    builder.report(mark, "the file ends inside a quoted text", "close the quotation mark");
  } else if (has(message, "referenced anchor")) {
    builder.report(mark, "there is no anchor of this name above",
                   "an anchor is written `&name value`");
  } else if (has(message, "unknown token")) {
    builder.report(mark, "no value can begin with this character", "put the text in quotes");
  } else if (has(message, "bad file")) {
    builder.report(mark, fmt::format("nested deeper than {} levels", kMaxYamlDepth));
  } else {
    builder.report(mark, message);
  }
}

/// Text is checked already. `source_text` is what the parser sees; it may be the end of the
/// source's first line, then `shift` columns stand before it.
std::optional<YamlNode> parse_into(const YamlSource& source, std::string_view text,
                                   std::int32_t source_index, std::int32_t shift,
                                   FaultList& faults) {
  const std::size_t before = faults.size();
  NodeBuilder builder(source, source_index, shift, faults);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop&) {
  } catch (const YAML::Exception& refusal) {
    report_refusal(builder, source, refusal);
  } catch (const std::exception& problem) {
    builder.report({source_index, 1, 1, 1},
                   fmt::format("the file cannot be read: {}", problem.what()));
  }
  if (faults.size() > before) return std::nullopt;
  return builder.take_root();
}

}  // namespace

Result<YamlDocument> document_of(std::string_view& text, const std::string& file) {
  SourceSpan whole;
  whole.file = file;
  if (text.size() > kMaxYamlBytes)
    return fail(
        input_error(fmt::format("the text is larger than {} MiB", kMaxYamlBytes >> 20), {}, whole));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (auto fault = text_fault(text, file)) return fail(std::move(*fault));
  YamlDocument document;
  document.sources.push_back({file, LinedText(std::string(text))});
  return document;
}

Result<YamlDocument> parse_yaml(std::string_view text, const std::string& file) {
  Result<YamlDocument> document = document_of(text, file);
  if (!document) return document;
  SourceSpan whole;
  whole.file = file;
  FaultList faults;
  auto root = parse_into(document->sources[0], text, 0, 0, faults);
  if (!root) return fail(faults.take(file));
  document->root = std::move(*root);
  if (document->root.kind == YamlKind::Null)
    return fail(input_error("the file is empty", {}, whole));
  return document;
}

Diagnostics override_yaml(YamlDocument& document, const std::string& key_path,
                          const std::string& value) {
  static constexpr const char* kOption = "--set";
  FaultList faults;
  const auto index = static_cast<std::int32_t>(document.sources.size());
  document.sources.push_back({kOption, LinedText(key_path + "=" + value)});
  const YamlSource& source = document.sources.back();
  const YamlMark key_mark{index, 1, 1, static_cast<std::int32_t>(key_path.size())};
  const auto complain = [&](std::string message, std::string hint = {}) {
    faults.add(input_error(std::move(message), std::move(hint), document.span(key_mark)));
  };
  if (key_path.size() + value.size() > kMaxYamlBytes) {
    complain(fmt::format("the option is larger than {} MiB", kMaxYamlBytes >> 20));
    return faults.take(kOption);
  }
  if (auto fault = text_fault(source.text.text(), kOption)) return {std::move(*fault)};
  if (key_path.find('\n') != std::string::npos) {
    complain("a key path is one line");
    return faults.take(kOption);
  }
  const auto shift = static_cast<std::int32_t>(key_path.size()) + 1;
  auto node = parse_into(source, value, index, shift, faults);
  if (!node) return faults.take(kOption);
  if (auto problem = place_node(document.root, key_path, std::move(*node), key_mark))
    complain(std::move(*problem), "write key.path=value");
  return faults.take(kOption);
}

}  // namespace pipecast

#include <fmt/format.h>

#include <algorithm>

#include "sim/read/yaml_cursor.hpp"

namespace pipecast {
namespace {

std::string_view kind_word(YamlKind kind) {
  switch (kind) {
    case YamlKind::Null:
      return "empty";
    case YamlKind::Scalar:
      return "a single value";
    case YamlKind::List:
      return "a list";
    case YamlKind::Map:
      return "a map";
  }
  return "empty";
}

const YamlEntry* entry_of(const YamlNode& node, std::string_view key) {
  const auto found = std::find_if(node.entries.begin(), node.entries.end(),
                                  [&](const YamlEntry& entry) { return entry.key == key; });
  return found == node.entries.end() ? nullptr : &*found;
}

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

void add_spans(const YamlDocument& document, const YamlNode& node, const std::string& path,
               std::vector<std::pair<std::string, SourceSpan>>& spans) {
  for (const YamlEntry& entry : node.entries) {
    const std::string key_path = joined(path, entry.key);
    const bool inner = entry.value.kind == YamlKind::Map || entry.value.kind == YamlKind::Null;
    spans.emplace_back(key_path, document.span(inner ? entry.mark : entry.value.mark));
    add_spans(document, entry.value, key_path, spans);
  }
}

}  // namespace

SourceSpan YamlDocument::span(const YamlMark& mark) const {
  if (sources.empty()) return {};
  const YamlSource& source = sources[static_cast<std::size_t>(mark.source)];
  return text_span(source.file, mark.line, mark.column, static_cast<std::size_t>(mark.length),
                   source.text.line(mark.line));
}

std::vector<std::pair<std::string, SourceSpan>> key_spans(const YamlDocument& document) {
  std::vector<std::pair<std::string, SourceSpan>> spans;
  add_spans(document, document.root, {}, spans);
  return spans;
}

YamlCursor::YamlCursor(const YamlDocument& document, FaultList& faults, const YamlNode& node,
                       const YamlMark* key_mark, std::string path, std::int32_t alias_line)
    : document_(&document),
      faults_(&faults),
      node_(&node),
      key_mark_(key_mark),
      path_(std::move(path)),
      alias_line_(node.alias_line > 0 ? node.alias_line : alias_line) {}

YamlCursor YamlCursor::root(const YamlDocument& document, FaultList& faults) {
  return {document, faults, document.root, nullptr, {}, 0};
}

YamlCursor YamlCursor::child(const YamlEntry& entry) const {
  return {*document_, *faults_, entry.value, &entry.mark, joined(path_, entry.key), alias_line_};
}

std::string_view YamlCursor::key() const {
  const std::size_t dot = path_.rfind('.');
  return dot == std::string::npos ? std::string_view(path_)
                                  : std::string_view(path_).substr(dot + 1);
}

SourceSpan YamlCursor::where() const {
  const bool at_key = node_->kind == YamlKind::Null && key_mark_ != nullptr;
  return document_->span(at_key ? *key_mark_ : node_->mark);
}

SourceSpan YamlCursor::key_where() const {
  return document_->span(key_mark_ != nullptr ? *key_mark_ : node_->mark);
}

std::string YamlCursor::with_alias(std::string hint) const {
  if (alias_line_ == 0) return hint;
  return fmt::format("{}{}used through the alias on line {}", hint, hint.empty() ? "" : "; ",
                     alias_line_);
}

void YamlCursor::fault(std::string message, std::string hint) const {
  if (faults_->full()) return faults_->add_hidden();
  faults_->add(input_error(std::move(message), with_alias(std::move(hint)), where()));
}

void YamlCursor::fault_at_key(std::string message, std::string hint) const {
  if (faults_->full()) return faults_->add_hidden();
  faults_->add(input_error(std::move(message), with_alias(std::move(hint)), key_where()));
}

bool YamlCursor::expect_map(std::span<const std::string> allowed) const {
  if (!is_map()) {
    const std::string what = path_.empty() ? std::string("the file") : path_;
    fault(fmt::format("{} is {}, a map is needed", what, kind_word(kind())),
          allowed.empty() ? "it takes no keys; write {}"
                          : fmt::format("keys: {}", fmt::join(allowed, ", ")));
    return false;
  }
  for (const YamlEntry& entry : node_->entries) {
    if (std::find(allowed.begin(), allowed.end(), entry.key) != allowed.end()) continue;
    if (faults_->full()) {
      faults_->add_hidden();
      continue;
    }
    const std::string place = path_.empty() ? std::string{} : fmt::format(" in {}", path_);
    child(entry).fault_at_key(
        fmt::format("unknown key '{}'{}", shown(entry.key), place),
        allowed.empty() ? "no keys are allowed here" : suggest(entry.key, allowed));
  }
  return true;
}

bool YamlCursor::expect_map(std::initializer_list<std::string_view> allowed) const {
  const std::vector<std::string> words(allowed.begin(), allowed.end());
  return expect_map(std::span<const std::string>(words));
}

bool YamlCursor::has(std::string_view key) const { return entry_of(*node_, key) != nullptr; }

std::optional<YamlCursor> YamlCursor::find(std::string_view key) const {
  const YamlEntry* entry = entry_of(*node_, key);
  if (entry == nullptr) return std::nullopt;
  YamlCursor cursor = child(*entry);
  if (cursor.kind() != YamlKind::Null) return cursor;
  cursor.fault(fmt::format("{} has no value", cursor.path()), "give a value or leave the key out");
  return std::nullopt;
}

std::optional<YamlCursor> YamlCursor::require(std::string_view key, std::string hint) const {
  if (is_map() && !has(key)) {
    const std::string place = path_.empty() ? std::string("the file") : path_;
    fault_at_key(fmt::format("{} lacks the key '{}'", place, key), std::move(hint));
    return std::nullopt;
  }
  return find(key);
}

std::size_t YamlCursor::size() const {
  return is_list() ? node_->items.size() : node_->entries.size();
}

YamlCursor YamlCursor::item(std::size_t index) const {
  return {*document_,
          *faults_,
          node_->items[index],
          nullptr,
          joined(path_, fmt::format_int(index).str()),
          alias_line_};
}

std::vector<YamlCursor> YamlCursor::children() const {
  std::vector<YamlCursor> list;
  for (std::size_t i = 0; i < node_->items.size(); ++i) list.push_back(item(i));
  for (const YamlEntry& entry : node_->entries) list.push_back(child(entry));
  return list;
}

std::optional<std::string> YamlCursor::text() const {
  if (kind() == YamlKind::Scalar) return node_->text;
  fault(fmt::format("{} is {}, a single value is needed", path_, kind_word(kind())));
  return std::nullopt;
}

std::optional<std::int64_t> YamlCursor::integer(std::int64_t minimum, std::int64_t maximum) const {
  const auto word = text();
  if (!word) return std::nullopt;
  const auto number = parse_integer(*word);
  if (!number) {
    fault(fmt::format("{}: {}", path_, number.error()));
    return std::nullopt;
  }
  if (*number >= minimum && *number <= maximum) return *number;
  fault(fmt::format("{} is {}, allowed is {} to {}", path_, *number, minimum, maximum));
  return std::nullopt;
}

std::optional<std::string> YamlCursor::choice(std::span<const std::string> words) const {
  auto word = text();
  if (!word) return std::nullopt;
  if (std::find(words.begin(), words.end(), *word) != words.end()) return word;
  fault(fmt::format("{} cannot be '{}'", path_, shown(*word)), suggest(*word, words));
  return std::nullopt;
}

std::optional<FieldValue> YamlCursor::field(const FieldInfo& field) const {
  const auto word = text();
  if (!word) return std::nullopt;
  auto value = parse_field(field, *word);
  if (value) return *value;
  const bool named = value.error().starts_with(field.name + " ");
  fault(named ? value.error() : fmt::format("{}: {}", field.name, value.error()));
  return std::nullopt;
}

FieldValues YamlCursor::fields(std::span<const FieldInfo> table,
                               std::initializer_list<std::string_view> also) const {
  std::vector<std::string> names;
  FieldValues values;
  for (const FieldInfo& field : table) {
    names.push_back(field.name);
    if (auto value = parse_field(field, field.default_text)) values[field.name] = *value;
  }
  names.insert(names.end(), also.begin(), also.end());
  if (!expect_map(std::span<const std::string>(names))) return values;
  for (const FieldInfo& field : table)
    if (const auto given = find(field.name)) {
      if (auto value = given->field(field)) values[field.name] = *value;
    } else if (!has(field.name) && !values.contains(field.name)) {
      require(field.name, field.help);
    }
  return values;
}

}  // namespace pipecast

#include "sim/read/toml_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pipecast {
namespace {

constexpr int kMaxDepth = 32;

bool key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

/// Recursive descent; stops at the first fault.
class TomlParser {
 public:
  TomlParser(const YamlSource& source, std::string_view text, FaultList& faults)
      : source_(source), text_(text), faults_(faults) {
    root_.kind = YamlKind::Map;
    root_.mark = {0, 1, 1, 1};
  }

  YamlNode run() {
    YamlNode* table = &root_;
    skip_lines();
    while (good() && at_ < text_.size()) {
      if (text_[at_] == '[')
        table = header();
      else
        entry(*table);
      if (good()) end_of_line();
      skip_lines();
    }
    return std::move(root_);
  }

 private:
  bool good() const { return faults_.empty(); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void complain(std::string message, std::string hint = {}) {
    if (!good()) return;
    const YamlMark where = mark(1);
    faults_.add(input_error(
        std::move(message), std::move(hint),
        text_span(source_.file, where.line, where.column, 1, source_.text.line(where.line))));
  }

  YamlMark mark(std::size_t length) const {
    return {0, line_, static_cast<std::int32_t>(at_ - line_begin_) + 1,
            static_cast<std::int32_t>(std::max<std::size_t>(length, 1))};
  }

  void advance() {
    if (text_[at_++] != '\n') return;
    ++line_;
    line_begin_ = at_;
  }

  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }

  void skip_lines() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#')
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      else if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
        advance();
      else
        return;
    }
  }

  void end_of_line() {
    skip_blanks();
    if (peek() == '#')
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    if (peek() == '\r') ++at_;
    if (at_ < text_.size() && peek() != '\n')
      complain(fmt::format("'{}' where the line should end", shown(text_.substr(at_, 1))));
  }

  std::string key() {
    skip_blanks();
    if (peek() == '"' || peek() == '\'') return string();
    const std::size_t begin = at_;
    while (at_ < text_.size() && key_char(text_[at_])) ++at_;
    if (begin == at_) complain("a key is expected", "name = value, or [table]");
    return std::string(text_.substr(begin, at_ - begin));
  }

  /// The map behind a key, made when there is none.
  YamlNode* enter(YamlNode& table, const std::string& name, const YamlMark& where) {
    for (YamlEntry& entry : table.entries) {
      if (entry.key != name) continue;
      if (entry.value.kind == YamlKind::Map) return &entry.value;
      complain(fmt::format("'{}' has a value already", shown(name)));
      return &table;
    }
    if (++nodes_ > kMaxYamlNodes) complain("too many values in one file");
    YamlNode map;
    map.kind = YamlKind::Map;
    map.mark = where;
    table.entries.push_back({name, where, std::move(map)});
    return &table.entries.back().value;
  }

  YamlNode* header() {
    ++at_;
    if (peek() == '[') complain("arrays of tables are not understood");
    YamlNode* table = &root_;
    for (int depth = 0; good(); ++depth) {
      skip_blanks();
      const YamlMark where = mark(1);
      const std::string name = key();
      if (depth > kMaxDepth) complain("tables nest too deep");
      if (!good()) break;
      table = enter(*table, name, where);
      skip_blanks();
      if (peek() != '.') break;
      ++at_;
    }
    if (good() && peek() != ']') complain("']' is missing");
    if (good()) ++at_;
    return table;
  }

  void entry(YamlNode& start, int depth = 0) {
    YamlNode* table = &start;
    YamlMark where = mark(1);
    std::string name = key();
    skip_blanks();
    for (int level = depth; good() && peek() == '.'; ++level) {
      if (level > kMaxDepth) complain("keys nest too deep");
      table = enter(*table, name, where);
      ++at_;
      skip_blanks();
      where = mark(1);
      name = key();
      skip_blanks();
    }
    where.length = static_cast<std::int32_t>(std::max<std::size_t>(name.size(), 1));
    if (good() && peek() != '=') complain("'=' is missing");
    if (!good()) return;
    ++at_;
    for (const YamlEntry& earlier : table->entries)
      if (earlier.key == name)
        complain(fmt::format("the key '{}' is repeated, it stands on line {} already", shown(name),
                             earlier.mark.line));
    YamlNode node = value(depth);
    if (good()) table->entries.push_back({std::move(name), where, std::move(node)});
  }

  YamlNode value(int depth) {
    skip_blanks();
    if (depth > kMaxDepth) complain("values nest too deep");
    if (++nodes_ > kMaxYamlNodes) complain("too many values in one file");
    YamlNode node;
    node.mark = mark(1);
    if (!good()) return node;
    if (peek() == '[') {
      array(node, depth);
    } else if (peek() == '{') {
      inline_table(node, depth);
    } else {
      const std::size_t begin = at_;
      node.kind = YamlKind::Scalar;
      node.text = peek() == '"' || peek() == '\'' ? string() : bare();
      node.mark.length = static_cast<std::int32_t>(std::max<std::size_t>(at_ - begin, 1));
    }
    return node;
  }

  void array(YamlNode& node, int depth) {
    node.kind = YamlKind::List;
    ++at_;
    for (skip_lines(); good() && peek() != ']'; skip_lines()) {
      if (at_ >= text_.size()) return complain("'[' is never closed");
      node.items.push_back(value(depth + 1));
      skip_lines();
      if (peek() == ',')
        ++at_;
      else if (peek() != ']')
        complain("',' or ']' is missing");
    }
    if (good()) ++at_;
  }

  void inline_table(YamlNode& node, int depth) {
    node.kind = YamlKind::Map;
    ++at_;
    for (skip_blanks(); good() && peek() != '}'; skip_blanks()) {
      if (at_ >= text_.size()) return complain("'{' is never closed");
      entry(node, depth + 1);
      skip_blanks();
      if (peek() == ',')
        ++at_;
      else if (peek() != '}')
        complain("',' or '}' is missing");
    }
    if (good()) ++at_;
  }

  std::string bare() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (key_char(text_[at_]) || text_[at_] == '+' || text_[at_] == '.' || text_[at_] == ':'))
      ++at_;
    if (begin == at_) complain("a value is expected");
    std::string word(text_.substr(begin, at_ - begin));
    const bool number =
        !word.empty() && (word[0] == '+' || word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
    if (number) std::erase(word, '_');
    return word;
  }

  std::string string() {
    const char quote = text_[at_];
    const std::string three(3, quote);
    const bool is_long = text_.substr(at_, 3) == three;
    at_ += is_long ? 3 : 1;
    std::string result;
    while (good()) {
      if (at_ >= text_.size() || (!is_long && text_[at_] == '\n')) {
        complain("the string is never closed");
        break;
      }
      if (is_long ? text_.substr(at_, 3) == three : text_[at_] == quote) break;
      if (text_[at_] == '\\' && quote == '"' && at_ + 1 < text_.size()) {
        ++at_;
        const char c = text_[at_];
        result += c == 'n' ? '\n' : c == 't' ? '\t' : c;
        advance();
        continue;
      }
      result += text_[at_];
      advance();
    }
    if (good()) at_ += is_long ? 3 : 1;
    return result;
  }

  const YamlSource& source_;
  std::string_view text_;
  FaultList& faults_;
  YamlNode root_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  std::size_t nodes_ = 0;
  std::int32_t line_ = 1;
};

}  // namespace

Result<YamlDocument> parse_toml(std::string_view text, const std::string& file) {
  Result<YamlDocument> document = document_of(text, file);
  if (!document) return document;
  FaultList faults;
  document->root = TomlParser(document->sources[0], text, faults).run();
  if (!faults.empty()) return fail(faults.take(file));
  return document;
}

}  // namespace pipecast

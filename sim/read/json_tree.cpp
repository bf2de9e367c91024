#include "sim/read/json_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace pipecast {
namespace {

/// Reads the text and counts what has been read: the parser tells no positions.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* count_;
};

/// Builds nodes from the parser's events. Each event returns whether to go on.
class NodeBuilder {
 public:
  using json = nlohmann::json;

  NodeBuilder(const YamlSource& source, std::string_view text, FaultList& faults)
      : source_(source), text_(text), faults_(faults) {}

  std::size_t* consumed() { return &consumed_; }
  YamlNode take_root() { return std::move(root_); }

  bool null() { return scalar(YamlKind::Null, "", 0); }
  bool boolean(bool value) { return scalar(YamlKind::Scalar, value ? "true" : "false", 0); }
  bool number_integer(json::number_integer_t value) {
    return scalar(YamlKind::Scalar, std::to_string(value), 1);
  }
  bool number_unsigned(json::number_unsigned_t value) {
    return scalar(YamlKind::Scalar, std::to_string(value), 1);
  }
  bool number_float(json::number_float_t, const std::string& written) {
    return scalar(YamlKind::Scalar, written, 1);
  }
  bool string(std::string& value) { return scalar(YamlKind::Scalar, value, 0); }
  bool binary(json::binary_t&) { return false; }

  bool start_object(std::size_t) { return open(YamlKind::Map); }
  bool start_array(std::size_t) { return open(YamlKind::List); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    Open& level = open_.back();
    level.key = name;
    level.key_mark = token(0);
    const auto [earlier, is_new] = level.lines.emplace(name, level.key_mark.line);
    if (is_new) return true;
    report(level.key_mark, fmt::format("the key '{}' is repeated, it stands on line {} already",
                                       shown(name), earlier->second));
    return false;
  }

  template <class Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception& error) {
    const std::string text = error.what();
    const std::size_t reason = text.rfind("; ");
    const std::size_t begin = position > 0 ? position - 1 : 0;
    report(mark_of(begin, begin + 1),
           "this is not JSON: " +
               printable(reason == std::string::npos ? text : text.substr(reason + 2)));
    return false;
  }

 private:
  struct Open {
    YamlNode node;
    std::string key;
    YamlMark key_mark;
    std::map<std::string, int, std::less<>> lines;
  };

  void report(const YamlMark& mark, std::string message) {
    faults_.add(input_error(
        std::move(message), {},
        text_span(source_.file, mark.line, mark.column, static_cast<std::size_t>(mark.length),
                  source_.text.line(mark.line))));
  }

  YamlMark mark_of(std::size_t begin, std::size_t end) {
    begin = std::min(begin, text_.size());
    while (counted_ < begin) {
      if (text_[counted_++] != '\n') continue;
      ++line_;
      line_begin_ = counted_;
    }
    const std::size_t from = std::max(begin, line_begin_);
    return {0, line_, static_cast<std::int32_t>(from - line_begin_) + 1,
            static_cast<std::int32_t>(std::max<std::size_t>(end > from ? end - from : 1, 1))};
  }

  /// Where the token that was just read stands; a number is known to end one character too late.
  YamlMark token(std::size_t too_far) {
    std::size_t begin = token_end_;
    while (begin < text_.size() &&
           std::string_view(" \t\r\n,:[]{}").find(text_[begin]) != std::string_view::npos)
      ++begin;
    const std::size_t end = consumed_ < text_.size() ? consumed_ - too_far : consumed_;
    token_end_ = std::max(end, token_end_);
    return mark_of(begin, end);
  }

  bool scalar(YamlKind kind, std::string value, std::size_t too_far) {
    YamlNode node;
    node.kind = kind;
    node.mark = token(too_far);
    node.text = std::move(value);
    return attach(std::move(node));
  }

  bool open(YamlKind kind) {
    Open level;
    level.node.kind = kind;
    level.node.mark = mark_of(consumed_ > 0 ? consumed_ - 1 : 0, consumed_);
    token_end_ = consumed_;
    if (open_.size() >= kMaxYamlDepth) {
      report(level.node.mark, fmt::format("nested deeper than {} levels", kMaxYamlDepth));
      return false;
    }
    open_.push_back(std::move(level));
    return true;
  }

  bool close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    token_end_ = consumed_;
    return attach(std::move(node));
  }

  bool attach(YamlNode node) {
    if (++nodes_ > kMaxYamlNodes) {
      report(node.mark, fmt::format("more than {} values in one file", kMaxYamlNodes));
      return false;
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return true;
    }
    Open& level = open_.back();
    if (level.node.kind == YamlKind::List)
      level.node.items.push_back(std::move(node));
    else
      level.node.entries.push_back({level.key, level.key_mark, std::move(node)});
    return true;
  }

  const YamlSource& source_;
  std::string_view text_;
  FaultList& faults_;
  YamlNode root_;
  std::vector<Open> open_;
  std::size_t consumed_ = 0;   ///< characters the parser has taken
  std::size_t token_end_ = 0;  ///< end of the token before
  std::size_t nodes_ = 0;
  std::size_t counted_ = 0;  ///< characters whose lines have been counted
  std::size_t line_begin_ = 0;
  std::int32_t line_ = 1;
};

}  // namespace

Result<YamlDocument> parse_json(std::string_view text, const std::string& file) {
  Result<YamlDocument> document = document_of(text, file);
  if (!document) return document;
  SourceSpan whole;
  whole.file = file;
  FaultList faults;
  NodeBuilder builder(document->sources[0], text, faults);
  const CountingIterator begin(text.data(), builder.consumed());
  const CountingIterator end(text.data() + text.size(), builder.consumed());
  bool good = false;
  try {
    good = nlohmann::json::sax_parse(begin, end, &builder);
  } catch (const nlohmann::json::exception& error) {
    faults.add(input_error(std::string("this is not JSON: ") + printable(error.what()), {}, whole));
  }
  if (!good && faults.empty()) faults.add(input_error("this is not JSON", {}, whole));
  if (!faults.empty()) return fail(faults.take(file));
  document->root = builder.take_root();
  return document;
}

void drop_nulls(YamlNode& node) {
  std::erase_if(node.entries,
                [](const YamlEntry& entry) { return entry.value.kind == YamlKind::Null; });
  for (YamlEntry& entry : node.entries) drop_nulls(entry.value);
  for (YamlNode& item : node.items) drop_nulls(item);
}

}  // namespace pipecast

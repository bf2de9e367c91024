#include <cctype>

#include "sim/cost/layout.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kMaxItems =
    100'000;  ///< items after repetition; a layout has at most a few thousand

/// Recursive descent over `items := (atom ("*" number)?)*`, atom := letter | "|" | "(" items ")".
class LayoutParser {
 public:
  explicit LayoutParser(std::string_view text) : text_(text) {}

  Result<std::string> run() {
    std::string items = sequence(0);
    if (faults_.empty() && position_ < text_.size()) complain("')' without '('");
    if (!faults_.empty()) return fail(std::move(faults_));
    return items;
  }

 private:
  void complain(const std::string& message) {
    if (!faults_.empty()) return;
    SourceSpan where;
    where.line = 1;
    where.column = static_cast<int>(position_) + 1;
    where.source_line = std::string(text_);
    faults_.push_back(
        input_error("layout string: " + message,
                    "letters E, t, m, L, v, stages separated by |, x*n and (…)*n repeat", where));
  }

  std::string sequence(int depth) {
    std::string items;
    while (faults_.empty() && position_ < text_.size() && text_[position_] != ')') {
      const char letter = text_[position_];
      if (letter == ',' || letter == ' ') {
        ++position_;
        continue;
      }
      const std::string atom = this->atom(depth);
      const std::size_t times = repetitions();
      if (atom.size() * times + items.size() > kMaxItems) complain("more than 100000 items");
      if (!faults_.empty()) return items;
      for (std::size_t i = 0; i < times; ++i) items += atom;
    }
    return items;
  }

  std::string atom(int depth) {
    const char letter = text_[position_];
    if (letter == '(') {
      if (depth > 16) complain("parentheses nest deeper than 16");
      ++position_;
      const std::string inside = sequence(depth + 1);
      if (!faults_.empty()) return {};
      if (position_ >= text_.size())
        complain("'(' is never closed");
      else
        ++position_;
      return inside;
    }
    if (letter != '|' && letter != 'E' && letter != 't' && letter != 'm' && letter != 'L' &&
        letter != 'v') {
      complain(std::string("'") + letter + "' is not allowed");
      return {};
    }
    ++position_;
    return {letter};
  }

  std::size_t repetitions() {
    if (position_ >= text_.size() || text_[position_] != '*') return 1;
    ++position_;
    std::size_t times = 0;
    const std::size_t begin = position_;
    while (position_ < text_.size() &&
           std::isdigit(static_cast<unsigned char>(text_[position_])) != 0 && times < kMaxItems)
      times = times * 10 + static_cast<std::size_t>(text_[position_++] - '0');
    if (position_ == begin)
      complain("a number is missing after '*'");
    else if (times == 0 || times > kMaxItems)
      complain("a repetition must be from 1 to 100000");
    return times;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  Diagnostics faults_;
};

}  // namespace

Result<std::vector<StageLayers>> parse_layout_string(std::string_view text) {
  const Result<std::string> items = LayoutParser(text).run();
  if (!items) return fail(items.error());
  std::vector<StageLayers> stages(1);
  for (const char item : *items) {
    if (item == '|') stages.emplace_back();
    if (item == 'v') ++stages.back().encoder;
    if (item == 'E') stages.back().embedding = true;
    if (item == 't') ++stages.back().layers;
    if (item == 'm') ++stages.back().mtp;
    if (item == 'L') stages.back().head = true;
  }
  return stages;
}

std::string layout_string(const std::vector<StageLayers>& stages) {
  std::string text;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i > 0) text += '|';
    text.append(static_cast<std::size_t>(stages[i].encoder), 'v');
    if (stages[i].embedding) text += 'E';
    text.append(static_cast<std::size_t>(stages[i].layers), 't');
    text.append(static_cast<std::size_t>(stages[i].mtp), 'm');
    if (stages[i].head) text += 'L';
  }
  return text;
}

}  // namespace pipecast

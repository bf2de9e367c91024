#include "sim/read/megatron_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/read/text_file.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kMaxArguments = 4096;
constexpr std::size_t kMaxValue = 1 << 16;

bool name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

struct Word {
  std::string text;
  SourceSpan where;
  bool begins_command = false;  ///< the first of a line that does not continue the one before
};

using Variables = std::map<std::string, std::string, std::less<>>;

/// Words of a shell, with variables put in. Quotes keep blanks, a backslash before a line end joins
/// lines, `#` at the begin of a word is a comment.
class ShellWords {
 public:
  ShellWords(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<Word> run() {
    while (at_ < text_.size() && words_.size() < 4 * kMaxArguments) step();
    end_word();
    return std::move(words_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (quote_ != 0) {
      if (c == quote_) {
        quote_ = 0;
        ++at_;
      } else if (quote_ == '"' && c == '$') {
        variable();
      } else if (quote_ == '"' && text_.substr(at_, 2) == "\\\n") {
        ++at_;
        next_line('\n');
        ++at_;
      } else {
        take(c);
      }
      return;
    }
    if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
      end_word();
      next_command_ = next_command_ || (c == '\n' && !in_list_);
      next_line(c);
      ++at_;
    } else if (c == '(' && open_ && word_.text.ends_with('=')) {
      end_word();
      in_list_ = true;
      ++at_;
    } else if (c == ')' && in_list_) {
      end_word();
      in_list_ = false;
      next_command_ = true;
      ++at_;
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      escaped();
    } else if (c == '"' || c == '\'') {
      begin_word();
      quote_ = c;
      ++at_;
    } else if (c == '#' && !open_) {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '$') {
      variable();
    } else {
      take(c);
    }
  }

  void escaped() {
    at_ += 1;
    if (text_[at_] == '\r' && at_ + 1 < text_.size()) ++at_;
    if (text_[at_] == '\n') {
      end_word();
      next_line('\n');
      ++at_;
    } else {
      take(text_[at_]);
    }
  }

  void next_line(char c) {
    if (c != '\n') return;
    ++line_;
    line_begin_ = at_ + 1;
  }

  void begin_word() { begin_word(at_); }

  void begin_word(std::size_t at) {
    if (open_) return;
    open_ = true;
    word_.begins_command = next_command_;
    next_command_ = false;
    const std::size_t end = std::min(text_.find('\n', line_begin_), text_.size());
    word_.where = text_span(file_, line_, static_cast<int>(at - line_begin_) + 1, 1,
                            text_.substr(line_begin_, end - line_begin_));
  }

  void take(char c) {
    begin_word();
    if (word_.text.size() < kMaxValue) word_.text += c;
    next_line(c);
    ++at_;
  }

  void variable() {
    ++at_;
    const std::size_t dollar = at_ - 1;
    const bool braces = at_ < text_.size() && text_[at_] == '{';
    std::size_t begin = braces ? at_ + 1 : at_;
    std::size_t end = begin;
    while (end < text_.size() && name_char(text_[end])) ++end;
    const std::string name(text_.substr(begin, end - begin));
    const auto known = variables_.find(name);
    std::string value = known != variables_.end() ? known->second : std::string{};
    bool list = false;  // ${NAME[@]}: the words of a list are arguments where they are written
    std::string_view fallback;
    if (braces) {
      const std::size_t close = std::min(text_.find('}', end), text_.size());
      const std::string_view rest = text_.substr(end, close - end);
      list = rest.starts_with("[");
      if (rest.starts_with(":-")) fallback = rest.substr(2);
      end = std::min(close + 1, text_.size());
    }
    if (value.empty()) value = std::string(fallback);
    if (value.empty() && !list)
      value = std::string(text_.substr(dollar, std::max(end, at_) - dollar));
    put(value, dollar);
    at_ = std::max(end, at_);
  }

  /// A value in the place of a variable: several words, unless quotes keep it together.
  void put(std::string_view value, std::size_t dollar) {
    for (const char c : value) {
      if (quote_ == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
        end_word();
        continue;
      }
      begin_word(dollar);
      if (word_.text.size() < kMaxValue) word_.text += c;
    }
  }

  /// NAME=value is remembered, everything else is a word.
  void end_word() {
    if (!open_) return;
    open_ = false;
    quote_ = 0;
    const std::size_t equals = word_.text.find('=');
    const bool assigns =
        equals != std::string::npos && equals > 0 &&
        std::all_of(word_.text.begin(), word_.text.begin() + static_cast<std::ptrdiff_t>(equals),
                    name_char);
    word_.where.length = static_cast<int>(std::max<std::size_t>(word_.text.size(), 1));
    if (assigns)
      variables_[word_.text.substr(0, equals)] = word_.text.substr(equals + 1);
    else
      words_.push_back(word_);
    word_ = {};
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<Word> words_;
  Variables variables_;
  Word word_;
  bool open_ = false;
  bool in_list_ = false;  ///< NAME=( … ): its words are arguments where they are written
  bool next_command_ = true;
  char quote_ = 0;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
};

std::string dashed(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

bool is_name(const std::string& word) {
  return word.size() > 2 && word.starts_with("--") && word[2] != '-';
}

std::vector<MegatronArgument> of_command_line(const std::vector<Word>& words) {
  std::vector<MegatronArgument> arguments;
  bool open = false;  // words that follow belong to the last argument
  for (const auto& [word, where, begins_command] : words) {
    if (!is_name(word)) {
      open = open && !begins_command && word != ")";
      if (open) arguments.back().values.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const bool whole = equals == std::string::npos;
    arguments.push_back({dashed(word.substr(2, whole ? equals : equals - 2)), {}, where});
    if (!whole) arguments.back().values.push_back(word.substr(equals + 1));
    open = whole;
  }
  return arguments;
}

/// `Namespace(a=1, b='x', c=None)`: what is None or False is left out.
std::vector<MegatronArgument> of_namespace(std::string_view text, const SourceSpan& where) {
  std::vector<MegatronArgument> arguments;
  text.remove_prefix(text.find('(') + 1);
  std::string part;
  int depth = 0;
  char quote = 0;
  const auto finish = [&] {
    const std::size_t equals = part.find('=');
    const std::size_t begin = part.find_first_not_of(" \n\r\t");
    if (equals == std::string::npos || begin >= equals) return part.clear();
    std::string value = part.substr(equals + 1);
    if (value.size() >= 2 && (value.front() == '\'' || value.front() == '"'))
      value = value.substr(1, value.size() - 2);
    if (value != "None" && value != "False")
      arguments.push_back({dashed(part.substr(begin, equals - begin)), {value}, where});
    part.clear();
  };
  for (const char c : text) {
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    if (quote == 0 && (c == '(' || c == '[' || c == '{')) ++depth;
    if (quote == 0 && (c == ')' || c == ']' || c == '}') && --depth < 0) break;
    if (quote == 0 && depth == 0 && c == ',')
      finish();
    else if (part.size() < kMaxValue)
      part += c;
  }
  finish();
  return arguments;
}

/// `  tensor_model_parallel_size ...................... 8`, as Megatron prints its arguments.
std::vector<MegatronArgument> of_table(std::string_view text, const std::string& file) {
  std::vector<MegatronArgument> arguments;
  int line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    const std::size_t begin = std::min(row.find_first_not_of(" \t"), row.size());
    const std::size_t dots = row.find(" ..");
    if (dots == std::string_view::npos || dots <= begin) continue;
    const std::string_view name = row.substr(begin, dots - begin);
    const std::size_t value = row.find_first_not_of(" .", dots);
    if (value == std::string_view::npos || !std::all_of(name.begin(), name.end(), name_char))
      continue;
    const std::string word(row.substr(value, row.find_last_not_of(" \r\t") + 1 - value));
    if (word == "None" || word == "False") continue;
    arguments.push_back({dashed(name),
                         {word},
                         text_span(file, line, static_cast<int>(begin) + 1, name.size(), row)});
  }
  return arguments;
}

}  // namespace

Result<MegatronWords> megatron_words(std::string_view text, const std::string& file) {
  SourceSpan whole;
  whole.file = file;
  if (text.size() > kMaxYamlBytes)
    return fail(
        input_error(fmt::format("the text is larger than {} MiB", kMaxYamlBytes >> 20), {}, whole));
  if (auto fault = text_fault(text, file)) return fail(std::move(*fault));
  MegatronWords words;
  std::vector<MegatronArgument>& arguments = words.arguments;
  words.command_line = false;
  if (const std::size_t at = text.find("Namespace("); at != std::string_view::npos)
    arguments = of_namespace(text.substr(at), whole);
  else if (text.find(" ....") != std::string_view::npos)
    arguments = of_table(text, file);
  else {
    arguments = of_command_line(ShellWords(text, file).run());
    words.command_line = true;
  }
  if (arguments.empty())
    return fail(input_error("there are no Megatron arguments in this file",
                            "--name value, as on the command line of pretrain_gpt.py", whole));
  if (arguments.size() > kMaxArguments)
    return fail(input_error(fmt::format("more than {} arguments", kMaxArguments), {}, whole));
  return words;
}

}  // namespace pipecast

#include "sim/base/diagnostic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace pipecast {
namespace {

constexpr std::string_view kRed = "\x1b[1;31m";
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kReset = "\x1b[0m";

std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t substitution = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substitution});
    }
  }
  return row.back();
}

std::string place(const SourceSpan& where) {
  if (where.line > 0) return fmt::format("{}:{}:{}: ", where.file, where.line, where.column);
  return where.file.empty() ? std::string{} : where.file + ": ";
}

/// A byte inside a UTF-8 character, which takes no place of its own on the screen.
bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Where a window that would begin or end at `offset` may be cut without splitting a character.
std::size_t character_begin(const std::string& line, std::size_t offset) {
  offset = std::min(offset, line.size());
  while (offset > 0 && offset < line.size() && is_continuation(line[offset])) --offset;
  return offset;
}

/// The line, or 160 bytes of it around the column: a line of a megabyte would hide the message.
std::string caret(const SourceSpan& where) {
  if (where.line <= 0 || where.source_line.empty()) return {};
  constexpr std::size_t kWidest = 160;
  const std::string& line = where.source_line;
  const auto at = static_cast<std::size_t>(std::max(where.column, 1)) - 1;
  const std::size_t begin = at >= kWidest ? character_begin(line, at + 1 - kWidest / 2) : 0;
  const std::size_t end = character_begin(line, begin + kWidest);
  std::string pad;
  for (std::size_t i = begin; i < at; ++i)
    if (i >= line.size() || !is_continuation(line[i]))
      pad += i < line.size() && line[i] == '\t' ? '\t' : ' ';
  const std::size_t last = at + static_cast<std::size_t>(std::max(where.length, 1));
  std::string tail;
  for (std::size_t i = at + 1; i < std::min(last, end); ++i)
    if (!is_continuation(line[i])) tail += '~';
  return fmt::format("  {}\n  {}^{}\n", line.substr(begin, end - begin), pad, tail);
}

}  // namespace

Diagnostic input_error(std::string message, std::string hint, SourceSpan where) {
  return {Fault::Input, std::move(where), std::move(message), std::move(hint)};
}

Diagnostic infeasible(std::string message, std::string hint, SourceSpan where) {
  return {Fault::Infeasible, std::move(where), std::move(message), std::move(hint)};
}

tl::unexpected<Diagnostics> fail(Diagnostic diagnostic) {
  Diagnostics all;
  all.push_back(std::move(diagnostic));
  return tl::unexpected<Diagnostics>(std::move(all));
}

tl::unexpected<Diagnostics> fail(Diagnostics diagnostics) {
  return tl::unexpected<Diagnostics>(std::move(diagnostics));
}

Diagnostics located(Diagnostics diagnostics, const SourceSpan& where) {
  for (Diagnostic& diagnostic : diagnostics)
    if (diagnostic.where.line == 0) diagnostic.where = where;
  return diagnostics;
}

std::string render(const Diagnostic& diagnostic, Color color) {
  const bool ansi = color == Color::Ansi;
  std::string text = ansi ? std::string(kBold) : std::string{};
  text += place(diagnostic.where);
  if (ansi) text += kRed;
  text += diagnostic.fault == Fault::Infeasible ? "infeasible: " : "error: ";
  if (ansi) text += kReset;
  text += diagnostic.message + "\n" + caret(diagnostic.where);
  if (!diagnostic.hint.empty()) text += "  hint: " + diagnostic.hint + "\n";
  return text;
}

std::string render(const Diagnostics& diagnostics, Color color) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += render(diagnostic, color);
  return text;
}

namespace {

/// Names are often written with capitals where ours have none.
std::string lower_case(std::string_view word) {
  std::string result(word);
  for (char& letter : result)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return result;
}

}  // namespace

std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > 64) return std::nullopt;
  const std::size_t tolerance = std::max<std::size_t>(1, word.size() / 3);
  std::size_t best = tolerance + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(lower_case(word), lower_case(candidate));
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string suggest(std::string_view word, std::span<const std::string> candidates) {
  if (const auto near = closest(word, candidates)) return fmt::format("did you mean '{}'?", *near);
  std::string text = "one of: ";
  for (std::size_t i = 0; i < candidates.size(); ++i) text += (i ? ", " : "") + candidates[i];
  return text;
}

}  // namespace pipecast

#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace pipecast {

/// Whose problem a diagnostic describes; decides the exit code of the program (1 or 3).
enum class Fault : std::uint8_t {
  Input,       ///< the text is wrong: unknown key, bad number, unreadable file
  Infeasible,  ///< the text is fine, the request cannot be met: shape, memory, deadlock
};

/// A stretch of one line of an input file. Lines and columns count from 1; 0 means unknown.
struct SourceSpan {
  std::string file;
  int line = 0;
  int column = 0;
  int length = 1;
  std::string source_line;  ///< the whole line, for the caret; may be empty

  bool operator==(const SourceSpan&) const = default;
};

/// One thing wrong, said so that the user can mend it: where, what was seen, what is allowed.
struct Diagnostic {
  Fault fault = Fault::Input;
  SourceSpan where;
  std::string message;
  std::string hint;  ///< a suggestion, or empty

  bool operator==(const Diagnostic&) const = default;
};

using Diagnostics = std::vector<Diagnostic>;

/// A value, or everything that was wrong. No exception crosses the public API.
template <class T>
using Result = tl::expected<T, Diagnostics>;

Diagnostic input_error(std::string message, std::string hint = {}, SourceSpan where = {});
Diagnostic infeasible(std::string message, std::string hint = {}, SourceSpan where = {});

/// `return fail(…)` turns one diagnostic, or a list, into the error side of any Result.
tl::unexpected<Diagnostics> fail(Diagnostic diagnostic);
tl::unexpected<Diagnostics> fail(Diagnostics diagnostics);

/// Fills the location of every diagnostic that has none yet: a schedule complains about a shape,
/// the reader knows where the shape was written.
Diagnostics located(Diagnostics diagnostics, const SourceSpan& where);

enum class Color : std::uint8_t { Plain, Ansi };

/// `file:line:column: error: message`, the line, a caret, the hint. Ends with a newline.
std::string render(const Diagnostic& diagnostic, Color color = Color::Plain);
std::string render(const Diagnostics& diagnostics, Color color = Color::Plain);

/// The candidate with the smallest edit distance, if it is close enough to be a slip of the pen
/// (at most a third of the word, at least one edit). Ties go to the first. O(candidates × length²).
std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates);

/// "did you mean 'x'?" when something is close, else "one of: a, b, c"; for Diagnostic::hint.
std::string suggest(std::string_view word, std::span<const std::string> candidates);

}  // namespace pipecast

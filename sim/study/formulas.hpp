#pragma once
#include <cstdint>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/study/ratio.hpp"

/// Closed forms of the literature held against the simulation, exactly: costs are whole ticks, so a
/// formula holds at a point or it does not.
namespace pipecast {

/// What a closed form is about. Per rank: the last argument of the form counts.
enum class FormulaQuantity : std::uint8_t {
  Makespan,        ///< start of the step to its last end
  Extra,           ///< makespan − compute of the busiest rank
  ExtraSpan,       ///< largest span of a rank − compute of the busiest rank
  BubbleFraction,  ///< idle ÷ (ranks × makespan)
  BubbleOverhead,  ///< makespan ÷ compute of the busiest rank − 1
  SpanBubble,      ///< 1 − compute of the busiest rank ÷ largest span
  PeakInFlight,    ///< per rank: chunk activations alive, released by B or W
  PeakAtInput,     ///< per rank: the same, released by B or I
  LargestPeak,     ///< the largest PeakInFlight
  PeakGrowth,      ///< the LargestPeak of 2m microbatches − that of m
  MemoryFactor,    ///< LargestPeak ÷ (v × that of 1f1b): activation bytes against 1F1B's
  Messages,        ///< transfers between ranks
  WeightCopies,    ///< stages held by a rank, the most of any, in units of the v it needs
  WeightVersions,  ///< per rank: versions of its weights alive at once
  Samples,         ///< per step: first-stage forwards × microbatch size × replicas
};

enum class FormulaRelation : std::uint8_t { Equals, AtMost, AtLeast };

/// Where a form is evaluated: costs of one chunk in ticks, c the delay of a message.
struct FormulaPoint {
  int P = 2;  ///< ranks
  int v = 1;  ///< chunks per rank
  int m = 1;  ///< microbatches per step
  std::int64_t F = 0, I = 0, W = 0, c = 0;
  int n = 1;         ///< the schedule's own parameter: pairs, waves, cuts, ahead, steps
  int b = 1, d = 1;  ///< microbatch size and replicas, for Samples
  int r = 0;         ///< the rank, for quantities per rank

  std::int64_t B() const { return I + W; }
  std::int64_t pass() const { return F + I + W; }
  bool operator==(const FormulaPoint&) const = default;
};

/// One closed form. `value` null: the same quantity of the schedule `other` at the same point.
struct FormulaInfo {
  std::string_view schedule;
  FormulaQuantity quantity = FormulaQuantity::Makespan;
  std::string_view text;    ///< the right-hand side, as a person writes it
  std::string_view source;  ///< who says so
  Ratio (*value)(const FormulaPoint&) = nullptr;
  std::string_view other = {};
  FormulaRelation relation = FormulaRelation::Equals;
  /// A parameter of the schedule that takes the values of `FormulaPoint::n`; empty: defaults.
  std::string_view parameter = {};
};

/// Every closed form we know, grouped by schedule in the order of the registry.
std::vector<FormulaInfo> known_formulas();

enum class FormulaVerdict : std::uint8_t { Holds, HoldsWhen, Fails };

/// A point where formula and simulation differ.
struct FormulaMiss {
  FormulaPoint at;
  Ratio formula;
  Ratio simulated;
};

/// A fact of a condition and the smallest point where it alone is violated and the form fails.
struct FormulaNeed {
  std::string fact;
  FormulaMiss without;
};

/// One closed form over the grid.
struct FormulaFinding {
  FormulaInfo formula;
  FormulaVerdict verdict = FormulaVerdict::Fails;
  std::string condition;            ///< HoldsWhen: the weakest found, as text
  bool condition_is_exact = false;  ///< it holds nowhere else on the grid
  int points = 0;                   ///< where the schedule is valid
  int holding = 0;
  int covered = 0;                 ///< points that satisfy the condition
  std::vector<FormulaNeed> needs;  ///< HoldsWhen: why each fact of the first conjunction is there
  FormulaMiss smallest_miss;       ///< free messages first, then by P, n, v, m, costs
  double largest_deviation = 0;    ///< |formula ÷ simulated − 1|, where that is defined
};

/// Runs every form about one of `subjects` over the built-in grid with the longest path;
/// `schedules` are all that a form may refer to. Error: a subject without a form, a form that names
/// no schedule.
Result<std::vector<FormulaFinding>> check_formulas(std::span<const ScheduleInfo> subjects,
                                                   std::span<const ScheduleInfo> schedules,
                                                   std::span<const FormulaInfo> formulas);

/// The word of a quantity: `makespan`, `bubble fraction` …
std::string_view quantity_name(FormulaQuantity quantity);
std::string_view verdict_name(FormulaVerdict verdict);
/// `holds`, `holds when c = 0`, `fails`.
std::string verdict_text(const FormulaFinding& finding);
/// `P=2 v=1 m=1 F=4 I=4 W=4 c=1: formula 12, simulated 14`.
std::string miss_text(const FormulaFinding& finding, const FormulaMiss& miss);
/// Of each fact of the condition the smallest point where it alone is violated, else the smallest
/// of all.
std::vector<std::string> counterexamples(const FormulaFinding& finding);

/// Table for a person, JSON (`"format": "pipecast.formulas/1"`), and docs/formulas.md.
void write_formulas_text(std::span<const FormulaFinding> findings, std::ostream& out);
void write_formulas_json(std::span<const FormulaFinding> findings, std::ostream& out);
void write_formulas_markdown(std::span<const FormulaFinding> findings, std::ostream& out);

}  // namespace pipecast

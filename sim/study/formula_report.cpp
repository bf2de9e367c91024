#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "sim/report/text_sink.hpp"
#include "sim/study/formula_grid.hpp"
#include "sim/study/formulas.hpp"

namespace pipecast {
namespace {

std::string_view relation_word(FormulaRelation relation) {
  switch (relation) {
    case FormulaRelation::Equals:
      return "equals";
    case FormulaRelation::AtMost:
      return "at most";
    case FormulaRelation::AtLeast:
      return "at least";
  }
  return "?";
}

std::string point_text(const FormulaFinding& finding, const FormulaPoint& at) {
  std::string text = fmt::format("P={} v={} m={} ", at.P, at.v, at.m);
  if (!finding.formula.parameter.empty()) text += fmt::format("n={} ", at.n);
  const FormulaQuantity quantity = finding.formula.quantity;
  if (quantity == FormulaQuantity::Samples) return text + fmt::format("b={} d={}", at.b, at.d);
  text += fmt::format("F={} I={} W={} c={}", at.F, at.I, at.W, at.c);
  if (quantity == FormulaQuantity::PeakInFlight || quantity == FormulaQuantity::PeakAtInput ||
      quantity == FormulaQuantity::WeightVersions)
    text += fmt::format(" r={}", at.r);
  return text;
}

/// For a Markdown cell: `|` would end it, `*` and `<` would be markup.
std::string in_code(std::string_view text) { return fmt::format("`{}`", text); }

std::string condition_cell(const FormulaFinding& finding) {
  if (finding.verdict != FormulaVerdict::HoldsWhen) return {};
  return " " + in_code(finding.condition) + (finding.condition_is_exact ? ", exactly" : "");
}

std::string counterexample_cell(const FormulaFinding& finding) {
  std::string cell;
  for (const std::string& line : counterexamples(finding))
    cell += (cell.empty() ? "" : "<br>") + in_code(line);
  return cell;
}

struct Tally {
  int holds = 0, holds_when = 0, fails = 0;
};

Tally tally_of(std::span<const FormulaFinding> findings) {
  const auto number = [&](FormulaVerdict verdict) {
    return static_cast<int>(
        std::count_if(findings.begin(), findings.end(),
                      [&](const FormulaFinding& finding) { return finding.verdict == verdict; }));
  };
  return {number(FormulaVerdict::Holds), number(FormulaVerdict::HoldsWhen),
          number(FormulaVerdict::Fails)};
}

std::string tally_text(std::span<const FormulaFinding> findings) {
  const Tally tally = tally_of(findings);
  return fmt::format("{} closed forms: {} hold, {} hold under a condition, {} fail",
                     findings.size(), tally.holds, tally.holds_when, tally.fails);
}

void write_point(const FormulaMiss& miss, TextSink& sink) {
  const FormulaPoint& at = miss.at;
  sink.text("{\"ranks\": ").integer(at.P).text(", \"chunks\": ").integer(at.v);
  sink.text(", \"microbatches\": ").integer(at.m).text(", \"parameter\": ").integer(at.n);
  sink.text(", \"rank\": ").integer(at.r);
  sink.text(", \"forward\": ").integer(at.F).text(", \"backward_input\": ").integer(at.I);
  sink.text(", \"backward_weight\": ").integer(at.W).text(", \"delay\": ").integer(at.c);
  sink.text(", \"formula\": ").quoted(miss.formula.text());
  sink.text(", \"simulated\": ").quoted(miss.simulated.text()).text("}");
}

void write_finding(const FormulaFinding& finding, TextSink& sink) {
  const FormulaInfo& formula = finding.formula;
  sink.text("    {\"schedule\": ").quoted(formula.schedule);
  sink.text(", \"quantity\": ").quoted(quantity_name(formula.quantity));
  sink.text(", \"relation\": ").quoted(relation_word(formula.relation));
  sink.text(", \"formula\": ").quoted(formula.text).text(", \"source\": ").quoted(formula.source);
  sink.text(",\n     \"verdict\": ").quoted(verdict_name(finding.verdict));
  sink.text(", \"condition\": ").quoted(finding.condition);
  sink.text(", \"condition_is_exact\": ").text(finding.condition_is_exact ? "true" : "false");
  sink.text(", \"points\": ").integer(finding.points);
  sink.text(", \"holding\": ").integer(finding.holding);
  sink.text(", \"covered\": ").integer(finding.covered);
  sink.text(", \"largest_deviation\": ").number(finding.largest_deviation);
  if (finding.verdict != FormulaVerdict::Holds) {
    sink.text(",\n     \"smallest_counterexample\": ");
    write_point(finding.smallest_miss, sink);
  }
  if (!finding.needs.empty()) sink.text(",\n     \"needs\": [");
  for (std::size_t i = 0; i < finding.needs.size(); ++i) {
    sink.text(i == 0 ? "" : ", ").text("{\"fact\": ").quoted(finding.needs[i].fact);
    sink.text(", \"without\": ");
    write_point(finding.needs[i].without, sink);
    sink.text("}");
  }
  if (!finding.needs.empty()) sink.text("]");
  sink.text("}");
}

constexpr std::string_view kPreamble =
    "# Closed forms against the simulation\n"
    "\n"
    "Made by the command below; a test runs it again and compares.\n"
    "\n"
    "```sh\n"
    "pipecast formulas --markdown formulas.md\n"
    "```\n"
    "\n"
    "P ranks, v chunks per rank, m microbatches, rank r = 0 … P-1. F, I, W: seconds of the "
    "forward, the input\n"
    "gradient and the weight gradient of **one chunk**, B = I + W the whole backward, c the delay "
    "of a message\n"
    "between two ranks. *Work* is the compute of the busiest rank, *span* the largest time from a "
    "rank's first\n"
    "operation to its last. Activations are counted in chunk activations, freed at B or W unless "
    "said otherwise.\n"
    "\n"
    "Every form is compared exactly, in whole ticks and fractions, with the longest path through "
    "the task graph.\n"
    "*Holds*: at every point of the grid at which the schedule is valid. *Holds when*: the program "
    "looked for the\n"
    "weakest condition of at most four facts under which it holds at every point; it knows "
    "nothing of the\n"
    "formula. *Exactly when*: it holds nowhere else on the grid. *Fails*: there is no such "
    "condition, or it covers\n"
    "next to nothing. The counterexample is the first of the grid from small to large.\n"
    "\n";

constexpr std::string_view kReading =
    "## What to read in it\n"
    "\n"
    "- GPipe and 1F1B have the same two bubbles, idle ÷ total (P-1)/(m+P-1) and idle ÷ ideal "
    "(P-1)/m, and with\n"
    "  free messages the same makespan. A text that gives one formula for GPipe and the other for "
    "1F1B shows two\n"
    "  definitions, not a gain. What 1F1B gains is memory: O(P) instead of O(m).\n"
    "- \"Zero bubble\" is a statement about the span of each rank: with equal F, I and W, free "
    "messages and m >= 2P-1\n"
    "  the span of zb-h2 is its work, and its makespan is still that of zb-h1, since each rank "
    "starts and ends later.\n"
    "- DeepSeek-V3's entries for ZB1P and DualPipe fail for unequal F, I and W (the table's B is "
    "the whole backward):\n"
    "  ZB1P's needs W <= F, DualPipe's and DualPipeV's also F = I.\n"
    "- The stages of a pipeline are not a factor of the global batch.\n"
    "- Interleaving multiplies messages by a little more than v: the wrap-around from the last "
    "rank to the first\n"
    "  is a message too.\n"
    "- Delays: no formula of the bubble survives c > 0 except those that name c.\n"
    "\n";

}  // namespace

std::string verdict_text(const FormulaFinding& finding) {
  switch (finding.verdict) {
    case FormulaVerdict::Holds:
      return "holds";
    case FormulaVerdict::HoldsWhen:
      return (finding.condition_is_exact ? "holds exactly when " : "holds when ") +
             finding.condition;
    case FormulaVerdict::Fails:
      return "fails";
  }
  return "?";
}

std::string miss_text(const FormulaFinding& finding, const FormulaMiss& miss) {
  return fmt::format("{}: formula {}, simulated {}", point_text(finding, miss.at),
                     miss.formula.text(), miss.simulated.text());
}

std::vector<std::string> counterexamples(const FormulaFinding& finding) {
  if (finding.verdict == FormulaVerdict::Holds) return {};
  if (finding.needs.empty()) return {miss_text(finding, finding.smallest_miss)};
  std::vector<std::string> lines;
  for (const FormulaNeed& need : finding.needs)
    lines.push_back("not " + need.fact + ": " + miss_text(finding, need.without));
  return lines;
}

void write_formulas_text(std::span<const FormulaFinding> findings, std::ostream& out) {
  std::string_view schedule;
  for (const FormulaFinding& finding : findings) {
    const FormulaInfo& formula = finding.formula;
    if (formula.schedule != schedule) out << formula.schedule << "\n";
    schedule = formula.schedule;
    out << fmt::format("  {:<36} {:<46} {}\n", quantity_name(formula.quantity), formula.text,
                       verdict_text(finding));
    if (finding.verdict == FormulaVerdict::Fails)
      out << fmt::format("  {:<36} {}\n", "", miss_text(finding, finding.smallest_miss));
  }
  out << tally_text(findings) << "\n";
}

void write_formulas_json(std::span<const FormulaFinding> findings, std::ostream& out) {
  TextSink sink(out);
  sink.text("{\n  \"format\": \"pipecast.formulas/1\",\n  \"grid\": ").quoted(formula_grid_text());
  const Tally tally = tally_of(findings);
  sink.text(",\n  \"holds\": ").integer(tally.holds);
  sink.text(", \"holds_when\": ").integer(tally.holds_when).text(", \"fails\": ");
  sink.integer(tally.fails).text(",\n  \"formulas\": [\n");
  for (std::size_t i = 0; i < findings.size(); ++i) {
    write_finding(findings[i], sink);
    sink.text(i + 1 < findings.size() ? ",\n" : "\n");
  }
  sink.text("  ]\n}\n");
  sink.finish();
}

void write_formulas_markdown(std::span<const FormulaFinding> findings, std::ostream& out) {
  out << kPreamble << "The grid: " << formula_grid_text() << "\n\n"
      << tally_text(findings) << ".\n\n"
      << kReading;
  std::string_view schedule;
  for (const FormulaFinding& finding : findings) {
    const FormulaInfo& formula = finding.formula;
    if (formula.schedule != schedule)
      out << (schedule.empty() ? "" : "\n") << "## " << formula.schedule
          << "\n\n| quantity | closed form | verdict | smallest counterexamples | source |\n"
             "|---|---|---|---|---|\n";
    schedule = formula.schedule;
    out << fmt::format("| {} | {} | **{}**{} | {} | {} |\n", quantity_name(formula.quantity),
                       in_code(formula.text), verdict_name(finding.verdict),
                       condition_cell(finding), counterexample_cell(finding), formula.source);
  }
}

}  // namespace pipecast

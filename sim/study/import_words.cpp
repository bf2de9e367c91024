#include "sim/study/import_words.hpp"

#include <fmt/format.h>

#include <cmath>

namespace pipecast {

std::string signed_percent(double fraction) { return fmt::format("{:+.2f} %", 100 * fraction); }

std::string signed_time(double seconds) {
  if (std::abs(seconds) < 1e-9) return format(Seconds{0});
  return (seconds < 0 ? "-" : "") + format(Seconds{std::abs(seconds)});
}

std::string_view kind_word(OpKind kind) {
  if (kind == OpKind::Forward) return "forward";
  if (kind == OpKind::BackwardInput) return "backward, input";
  if (kind == OpKind::BackwardWeight) return "backward, weight";
  return "backward";
}

std::string run_words(const ImportReport& report) {
  const MeasuredProfile& profile = report.profile;
  const std::size_t steps = report.run.steps.size();
  return fmt::format("{} step{}, {} ranks, {} chunk{} per rank, {} microbatches, order: {}", steps,
                     steps == 1 ? "" : "s", profile.shape.ranks, profile.shape.chunks,
                     profile.shape.chunks == 1 ? "" : "s", profile.shape.microbatches,
                     profile.schedule.empty() ? "of no registered schedule" : profile.schedule);
}

std::string prediction_source(const MeasuredComparison& comparison) {
  if (!comparison.against.empty()) return "by the scenario '" + comparison.against + "'";
  return comparison.in_sample ? "from its own profile" : "from the steps before";
}

std::string ideal_meaning(const MeasuredComparison& comparison) {
  return comparison.against.empty() ? "every operation at its fastest, nothing else"
                                    : "every operation as the scenario has it, nothing else";
}

std::vector<ExcessPart> excess_parts(const MeasuredComparison& comparison) {
  const ExcessTime& path = comparison.excess.path;
  return {{"ideal", ideal_meaning(comparison), path.ideal_s},
          {"start", "before the path's first operation", path.start_s},
          {"overshoot", "operations longer than their ideal", path.operations_s},
          {"gaps", "between operations of a rank", path.gaps_s},
          {"messages", "end of the producer to the begin of the consumer", path.messages_s},
          {"slack", "the ideal's own path is longer than this one", 0 - path.slack_s}};
}

std::vector<ExcessLine> excess_lines(const MeasuredExcess& excess) {
  std::vector<ExcessLine> lines;
  for (const KindOvershoot& kind : excess.overshoots)
    lines.push_back({fmt::format("overshoot of a {}", kind_word(kind.kind)), kind.overshoot});
  for (const GapBetween& gap : excess.gaps)
    lines.push_back(
        {fmt::format("gap from {} to {}", kind_word(gap.before), kind_word(gap.after)), gap.gap});
  if (excess.messages.count > 0) lines.push_back({"message that was waited for", excess.messages});
  return lines;
}

}  // namespace pipecast

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "sim/report/text_sink.hpp"
#include "sim/study/import_words.hpp"
#include "sim/study/measured_compare.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kMostLines = 10;

std::string time(double seconds) { return signed_time(std::max(seconds, 0.0)); }

std::string slow_stage_text(const MeasuredProfile& profile) {
  if (!profile.slow_stage) return "no stage is over 3 % slower than the others";
  const int stage = profile.slow_stage->value;
  return fmt::format("slow stage: {}{}, {} over the median stage", stage,
                     stage + 1 == profile.shape.stages() ? " (the last)" : "",
                     signed_percent(profile.slow_excess));
}

std::string outlier_text(const MeasuredOutlier& outlier) {
  return fmt::format("rank {} {}: {} where {} is usual, in {} of {} steps", outlier.rank.value,
                     op_text(outlier.op), time(outlier.seconds), time(outlier.median_s),
                     outlier.steps, outlier.of_steps);
}

std::string difference_text(const Difference& difference) {
  const std::string what = difference.sort == Difference::Sort::Straggler
                               ? std::string()
                               : " at " + op_text(difference.op);
  return fmt::format("{}: rank {}{}, {} more", difference_name(difference.sort),
                     difference.rank.value, what, time(difference.seconds));
}

void write_profile(const MeasuredProfile& profile, std::ostream& out) {
  out << fmt::format("{:<7} {:<5} {:<3} {:>6} {:>12} {:>12} {:>12} {:>12}\n", "stage", "rank", "op",
                     "count", "median", "spread", "shortest", "longest");
  for (const OperationProfile& operation : profile.operations)
    out << fmt::format("{:<7} {:<5} {:<3} {:>6} {:>12} {:>12} {:>12} {:>12}\n",
                       operation.stage.value, operation.rank.value, op_word(operation.kind),
                       operation.count, time(operation.median_s), time(operation.spread_s),
                       time(operation.shortest_s), time(operation.longest_s));
  out << fmt::format("gap between operations of a rank: mean {}, median {} ({} of them)\n",
                     time(profile.gap.mean_s), time(profile.gap.median_s), profile.gap.count);
  out << fmt::format("message that was waited for: median {} ({} of them)\n",
                     time(profile.message.median_s), profile.message.count);
  out << slow_stage_text(profile) << "\n";
  for (std::size_t i = 0; i < std::min(kMostLines, profile.outliers.size()); ++i)
    out << "outlier: " << outlier_text(profile.outliers[i]) << "\n";
}

void write_operation(const OperationProfile& operation, TextSink& sink) {
  sink.text("{\"stage\": ").integer(operation.stage.value);
  sink.text(", \"rank\": ").integer(operation.rank.value);
  sink.text(", \"kind\": ").quoted(op_word(operation.kind));
  sink.text(", \"count\": ").integer(operation.count);
  sink.text(", \"median_s\": ").number(operation.median_s);
  sink.text(", \"spread_s\": ").number(operation.spread_s);
  sink.text(", \"shortest_s\": ").number(operation.shortest_s);
  sink.text(", \"longest_s\": ").number(operation.longest_s).text("}");
}

template <class Range, class Write>
void write_list(TextSink& sink, std::string_view key, const Range& range, Write write) {
  sink.text(",\n  \"").text(key).text("\": [");
  bool first = true;
  for (const auto& item : range) {
    sink.text(first ? "\n    " : ",\n    ");
    write(item);
    first = false;
  }
  sink.text(first ? "]" : "\n  ]");
}

void write_json_profile(const MeasuredProfile& profile, TextSink& sink) {
  sink.text(",\n  \"schedule\": ").quoted(profile.schedule);
  sink.text(",\n  \"ranks\": ").integer(profile.shape.ranks);
  sink.text(", \"chunks\": ").integer(profile.shape.chunks);
  sink.text(", \"microbatches\": ").integer(profile.shape.microbatches);
  sink.text(",\n  \"gap_s\": ").number(profile.gap.mean_s);
  sink.text(", \"message_s\": ").number(profile.message.median_s);
  sink.text(",\n  \"slow_stage\": ").integer(profile.slow_stage ? profile.slow_stage->value : -1);
  sink.text(", \"slow_excess\": ").number(profile.slow_excess);
  write_list(sink, "operations", profile.operations,
             [&](const OperationProfile& operation) { write_operation(operation, sink); });
  write_list(sink, "outliers", profile.outliers, [&](const MeasuredOutlier& outlier) {
    sink.text("{\"rank\": ").integer(outlier.rank.value);
    sink.text(", \"operation\": ").quoted(op_text(outlier.op));
    sink.text(", \"steps\": ").integer(outlier.steps);
    sink.text(", \"of_steps\": ").integer(outlier.of_steps);
    sink.text(", \"seconds\": ").number(outlier.seconds);
    sink.text(", \"median_s\": ").number(outlier.median_s).text("}");
  });
}

void write_percentiles(const Percentiles& values, TextSink& sink) {
  sink.text("\"count\": ").integer(values.count);
  sink.text(", \"p50_s\": ").number(values.p50_s);
  sink.text(", \"p95_s\": ").number(values.p95_s);
  sink.text(", \"p99_s\": ").number(values.p99_s).text("}");
}

void write_json_excess(const MeasuredExcess& excess, TextSink& sink) {
  const ExcessTime& path = excess.path;
  sink.text(",\n  \"excess\": {\"ideal_s\": ").number(path.ideal_s);
  sink.text(", \"start_s\": ").number(path.start_s);
  sink.text(", \"operations_s\": ").number(path.operations_s);
  sink.text(", \"gaps_s\": ").number(path.gaps_s);
  sink.text(", \"messages_s\": ").number(path.messages_s);
  sink.text(", \"slack_s\": ").number(path.slack_s).text("}");
  write_list(sink, "overshoots", excess.overshoots, [&](const KindOvershoot& kind) {
    sink.text("{\"kind\": ").quoted(op_word(kind.kind)).text(", ");
    write_percentiles(kind.overshoot, sink);
  });
  write_list(sink, "gaps", excess.gaps, [&](const GapBetween& gap) {
    sink.text("{\"before\": ").quoted(op_word(gap.before));
    sink.text(", \"after\": ").quoted(op_word(gap.after)).text(", ");
    write_percentiles(gap.gap, sink);
  });
  sink.text(",\n  \"messages\": {");
  write_percentiles(excess.messages, sink);
}

void write_json_ranks(const MeasuredComparison& comparison, TextSink& sink) {
  write_list(sink, "rank_times", comparison.ranks, [&](const RankComparison& rank) {
    const RankExcess& parts = comparison.excess.ranks[rank.rank.at()];
    sink.text("{\"rank\": ").integer(rank.rank.value);
    sink.text(", \"measured_busy_s\": ").number(rank.measured_busy_s);
    sink.text(", \"predicted_busy_s\": ").number(rank.predicted_busy_s);
    sink.text(", \"measured_end_s\": ").number(rank.measured_end_s);
    sink.text(", \"predicted_end_s\": ").number(rank.predicted_end_s);
    sink.text(", \"overshoot_s\": ").number(parts.operations_s);
    sink.text(", \"gaps_s\": ").number(parts.gaps_s);
    sink.text(", \"messages_s\": ").number(parts.messages_s);
    sink.text(", \"waiting_s\": ").number(parts.waiting_s).text("}");
  });
}

}  // namespace

void write_import_text(const ImportReport& report, std::ostream& out) {
  const MeasuredProfile& profile = report.profile;
  const MeasuredComparison& comparison = report.comparison;
  out << run_words(report) << "\n";
  for (const std::string& note : report.run.notes) out << "note: " << note << "\n";
  write_profile(profile, out);
  out << fmt::format("\n{}: measured {}, predicted {} ({}, {})\n", comparison.step,
                     time(comparison.measured_s), time(comparison.predicted_s),
                     signed_percent(comparison.error()), prediction_source(comparison));
  for (const ExcessPart& part : excess_parts(comparison))
    out << fmt::format("  {:<9} {:>12} {:>7.2f} %  {}\n", part.name, signed_time(part.seconds),
                       100 * part.seconds / comparison.measured_s, part.meaning);
  out << fmt::format("{:<42} {:>6} {:>12} {:>12} {:>12}\n", "of all operations", "count", "median",
                     "95 of 100", "99 of 100");
  for (const ExcessLine& line : excess_lines(comparison.excess))
    out << fmt::format("  {:<40} {:>6} {:>12} {:>12} {:>12}\n", line.name, line.values.count,
                       signed_time(line.values.p50_s), signed_time(line.values.p95_s),
                       signed_time(line.values.p99_s));
  out << fmt::format("{:<6} {:>13} {:>14} {:>13} {:>14}\n", "rank", "busy", "predicted", "ends",
                     "predicted");
  for (const RankComparison& rank : comparison.ranks)
    out << fmt::format("{:<6} {:>13} {:>14} {:>13} {:>14}\n", rank.rank.value,
                       time(rank.measured_busy_s), time(rank.predicted_busy_s),
                       time(rank.measured_end_s), time(rank.predicted_end_s));
  for (std::size_t i = 0; i < std::min(kMostLines, comparison.differences.size()); ++i)
    out << difference_text(comparison.differences[i]) << "\n";
}

void write_import_json(const ImportReport& report, std::ostream& out) {
  const MeasuredComparison& comparison = report.comparison;
  TextSink sink(out);
  sink.text("{\n  \"format\": \"pipecast.import/1\",\n  \"steps\": ");
  sink.integer(static_cast<std::int64_t>(report.run.steps.size()));
  write_list(sink, "notes", report.run.notes, [&](const std::string& note) { sink.quoted(note); });
  write_json_profile(report.profile, sink);
  sink.text(",\n  \"step\": ").quoted(comparison.step);
  sink.text(", \"in_sample\": ").text(comparison.in_sample ? "true" : "false");
  if (!comparison.against.empty()) sink.text(", \"against\": ").quoted(comparison.against);
  sink.text(",\n  \"measured_s\": ").number(comparison.measured_s);
  sink.text(", \"predicted_s\": ").number(comparison.predicted_s);
  sink.text(", \"error\": ").number(comparison.error());
  write_json_excess(comparison.excess, sink);
  write_json_ranks(comparison, sink);
  write_list(sink, "step_operations", comparison.operations,
             [&](const OperationProfile& operation) { write_operation(operation, sink); });
  write_list(sink, "differences", comparison.differences, [&](const Difference& difference) {
    sink.text("{\"cause\": ").quoted(difference_name(difference.sort));
    sink.text(", \"rank\": ").integer(difference.rank.value);
    const bool straggler = difference.sort == Difference::Sort::Straggler;
    sink.text(", \"operation\": ").quoted(straggler ? std::string() : op_text(difference.op));
    sink.text(", \"seconds\": ").number(difference.seconds).text("}");
  });
  sink.text("\n}\n");
  sink.finish();
}

}  // namespace pipecast

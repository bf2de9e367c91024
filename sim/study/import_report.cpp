#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <sstream>

#include "sim/report/text_sink.hpp"
#include "sim/report/timeline_svg.hpp"
#include "sim/study/measured_compare.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kMostLines = 10;

std::string percent(double fraction) { return fmt::format("{:+.2f} %", 100 * fraction); }
std::string time(double seconds) { return format(Seconds{seconds < 1e-9 ? 0 : seconds}); }

std::string slow_stage_text(const MeasuredProfile& profile) {
  if (!profile.slow_stage) return "no stage is over 3 % slower than the others";
  const int stage = profile.slow_stage->value;
  return fmt::format("slow stage: {}{}, {} over the median stage", stage,
                     stage + 1 == profile.shape.stages() ? " (the last)" : "",
                     percent(profile.slow_excess));
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

std::vector<std::pair<std::string, double>> excess_rows(const ExcessTime& excess) {
  return {{"ideal: every operation at its fastest", excess.ideal_s},
          {"start of the step", excess.start_s},
          {"operation overshoot", excess.operations_s},
          {"gaps between operations", excess.gaps_s},
          {"messages", excess.messages_s},
          {"slack of the path", -excess.slack_s}};
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

void write_json_excess(const ExcessTime& excess, TextSink& sink) {
  sink.text(",\n  \"excess\": {\"ideal_s\": ").number(excess.ideal_s);
  sink.text(", \"start_s\": ").number(excess.start_s);
  sink.text(", \"operations_s\": ").number(excess.operations_s);
  sink.text(", \"gaps_s\": ").number(excess.gaps_s);
  sink.text(", \"messages_s\": ").number(excess.messages_s);
  sink.text(", \"slack_s\": ").number(excess.slack_s).text("}");
}

void write_svg(const FinishedRun& run, const std::string& title, std::ostream& out) {
  std::ostringstream svg;
  write_timeline_svg(run.prepared.program, run.prepared.workload, run.prepared.graph, run.timeline,
                     {.title = title}, svg);
  const std::string text = svg.str();
  out << "<div class=\"wide\">" << text.substr(std::min(text.find("<svg"), text.size()))
      << "</div>\n";
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text)
    result += letter == '<' ? "&lt;" : letter == '&' ? "&amp;" : std::string(1, letter);
  return result;
}

constexpr std::string_view kHead =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<title>measured and predicted</title><style>\n"
    ":root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem auto;"
    "max-width:75rem;padding:0 1rem}table{border-collapse:collapse;margin:.6rem 0}"
    "td,th{padding:.15rem .7rem;text-align:right;border-bottom:1px solid #8884}"
    "td:first-child,th:first-child{text-align:left}.wide{overflow-x:auto;background:#fff;"
    "margin:.8rem 0}pre{overflow-x:auto}</style></head><body>\n";

}  // namespace

void write_import_text(const ImportReport& report, std::ostream& out) {
  const MeasuredProfile& profile = report.profile;
  const MeasuredComparison& comparison = report.comparison;
  out << fmt::format("{} step{}, {} ranks, {} chunk{} per rank, {} microbatches, order: {}\n",
                     report.run.steps.size(), report.run.steps.size() == 1 ? "" : "s",
                     profile.shape.ranks, profile.shape.chunks,
                     profile.shape.chunks == 1 ? "" : "s", profile.shape.microbatches,
                     profile.schedule.empty() ? "of no registered schedule" : profile.schedule);
  for (const std::string& note : report.run.notes) out << "note: " << note << "\n";
  write_profile(profile, out);
  out << fmt::format("\n{}: measured {}, predicted {} ({}{})\n", comparison.step,
                     time(comparison.measured_s), time(comparison.predicted_s),
                     percent(comparison.error()),
                     comparison.in_sample ? ", from its own profile" : ", from the steps before");
  for (const auto& [name, seconds] : excess_rows(comparison.excess))
    out << fmt::format("  {:<40} {:>12}  {:>7.2f} %\n", name,
                       seconds < 0 ? "-" + time(-seconds) : time(seconds),
                       100 * seconds / comparison.measured_s);
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
  sink.text(",\n  \"measured_s\": ").number(comparison.measured_s);
  sink.text(", \"predicted_s\": ").number(comparison.predicted_s);
  sink.text(", \"error\": ").number(comparison.error());
  write_json_excess(comparison.excess, sink);
  write_list(sink, "rank_times", comparison.ranks, [&](const RankComparison& rank) {
    sink.text("{\"rank\": ").integer(rank.rank.value);
    sink.text(", \"measured_busy_s\": ").number(rank.measured_busy_s);
    sink.text(", \"predicted_busy_s\": ").number(rank.predicted_busy_s);
    sink.text(", \"measured_end_s\": ").number(rank.measured_end_s);
    sink.text(", \"predicted_end_s\": ").number(rank.predicted_end_s).text("}");
  });
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

void write_import_html(const ImportReport& report, std::ostream& out) {
  const MeasuredComparison& comparison = report.comparison;
  out << kHead << "<h1>Measured and predicted</h1>\n<table><tr><th>" << escaped(comparison.step)
      << "</th><th>seconds</th><th>of the step</th></tr>\n";
  const auto row = [&](const std::string& name, double seconds) {
    out << fmt::format("<tr><td>{}</td><td>{:.6f}</td><td>{:.2f} %</td></tr>\n", escaped(name),
                       seconds, 100 * seconds / comparison.measured_s);
  };
  row("measured", comparison.measured_s);
  row("predicted", comparison.predicted_s);
  for (const auto& [name, seconds] : excess_rows(comparison.excess)) row(name, seconds);
  out << "</table>\n";
  write_svg(comparison.measured, "measured, " + comparison.step, out);
  write_svg(comparison.predicted, "predicted", out);
  std::ostringstream text;
  write_import_text(report, text);
  out << "<h2>Profile and differences</h2>\n<pre>" << escaped(text.str())
      << "</pre>\n</body></html>\n";
}

}  // namespace pipecast

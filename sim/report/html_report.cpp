#include "sim/report/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "sim/report/html_style.hpp"
#include "sim/report/memory.hpp"
#include "sim/report/timeline_svg.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kMostRanks = 256;  ///< rows of a table or chart; the JSON summary has all
constexpr std::size_t kMostLinks = 32;
constexpr std::size_t kCurveColumns = 480;
constexpr double kCurveHeight = 44;

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

std::string percent(double fraction) { return fmt::format("{:.2f} %", 100 * fraction); }

void write_figure(std::ostream& out, std::string_view name, const std::string& value,
                  std::string_view meaning) {
  out << "<div class=\"figure\"><dt>" << name << "</dt><dd>" << value << "</dd><small>" << meaning
      << "</small></div>\n";
}

void write_figures(const RunView& run, std::ostream& out) {
  const Summary& summary = run.summary;
  out << "<dl class=\"figures\">\n";
  write_figure(out, "step time (makespan)", format(Seconds{summary.makespan_s}),
               "start of the step to its end");
  write_figure(out, "ideal", format(Seconds{summary.ideal_s}), "compute of the busiest rank");
  write_figure(out, "bubble fraction", percent(summary.bubble_fraction),
               "idle time of all ranks ÷ (ranks × makespan)");
  write_figure(out, "bubble overhead", percent(summary.bubble_overhead), "makespan ÷ ideal − 1");
  write_figure(out, "longest rank span", format(Seconds{summary.max_rank_span_s}),
               "first to last operation of one rank");
  write_figure(out, "span bubble fraction", percent(summary.span_bubble_fraction),
               "1 − ideal ÷ longest rank span");
  out << "</dl>\n";
}

struct IdlePart {
  const char* name;
  const char* css;
  double RankSummary::*seconds;
};

constexpr IdlePart kParts[] = {
    {"busy", "busy", &RankSummary::busy_s},
    {"warm-up", "warmup", &RankSummary::warmup_idle_s},
    {"steady", "steady", &RankSummary::steady_idle_s},
    {"cool-down", "cooldown", &RankSummary::cooldown_idle_s},
    {"waiting for a transfer", "transfer", &RankSummary::waiting_for_transfer_s}};

void write_idle(const RunView& run, std::ostream& out) {
  out << "<h2>Where the time of each rank goes</h2>\n<p class=\"legend\">";
  for (const IdlePart& part : kParts)
    out << "<span class=\"swatch " << part.css << "\"></span>" << part.name << " ";
  out << "</p>\n<table><tr><th>rank</th><th>device</th><th class=\"wide\">share of the "
         "step</th><th>busy</th>"
         "<th>warm-up</th><th>steady</th><th>cool-down</th><th>transfer</th></tr>\n";
  const double makespan_s = std::max(run.summary.makespan_s, 1e-300);
  for (std::size_t i = 0; i < std::min(run.summary.ranks.size(), kMostRanks); ++i) {
    const RankSummary& rank = run.summary.ranks[i];
    out << "<tr><td>" << rank.rank.value << "</td><td>"
        << escaped(run.platform.devices[rank.device.at()].name) << "</td><td><div class=\"bar\">";
    for (const IdlePart& part : kParts)
      out << fmt::format("<i class=\"{}\" style=\"width:{:.3f}%\" title=\"{} {}\"></i>", part.css,
                         100 * rank.*part.seconds / makespan_s, part.name,
                         format(Seconds{rank.*part.seconds}));
    out << "</div></td>";
    for (const IdlePart& part : kParts)
      out << "<td class=\"n\">" << format(Seconds{rank.*part.seconds}) << "</td>";
    out << "</tr>\n";
  }
  out << "</table>\n";
}

/// The largest value of each column, so that no peak is lost.
std::vector<double> column_peaks(const MemoryCurve& curve, double makespan_s) {
  std::vector<double> peaks(kCurveColumns, 0);
  double alive = 0;
  std::size_t column = 0;
  for (const MemoryPoint& point : curve) {
    const double share = makespan_s > 0 ? point.time_s / makespan_s : 0;
    const auto at = std::min(kCurveColumns - 1, static_cast<std::size_t>(share * kCurveColumns));
    for (; column <= at; ++column) peaks[column] = std::max(peaks[column], alive);
    column = at;
    peaks[at] = std::max(peaks[at], point.bytes);
    alive = point.bytes;
  }
  for (++column; column < kCurveColumns; ++column) peaks[column] = alive;
  return peaks;
}

void write_curve(const MemoryCurve& curve, const RankSummary& rank, double top, double makespan_s,
                 std::ostream& out) {
  const auto y_of = [&](double bytes) { return kCurveHeight - kCurveHeight * bytes / top; };
  out << fmt::format(
      "<svg class=\"curve\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\"><path d=\"M0 {}",
      kCurveColumns, kCurveHeight, kCurveHeight);
  const std::vector<double> peaks = column_peaks(curve, makespan_s);
  for (std::size_t column = 0; column < peaks.size(); ++column)
    out << fmt::format("V{:.1f}H{}", y_of(rank.static_memory.value + peaks[column]), column + 1);
  out << fmt::format("V{}Z\"/>", kCurveHeight);
  if (rank.capacity.value > 0 && rank.capacity.value <= top)
    out << fmt::format("<line x1=\"0\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kCurveColumns,
                       y_of(rank.capacity.value), y_of(rank.capacity.value));
  out << "</svg>";
}

void write_memory(const RunView& run, std::ostream& out) {
  const std::vector<MemoryCurve> curves =
      rank_curves(run.program, run.workload, run.tasks, run.timeline);
  double top = 0;
  for (const RankSummary& rank : run.summary.ranks)
    top = std::max({top, rank.peak_memory.value, rank.capacity.value});
  out << "<h2>Memory of each rank</h2>\n<table><tr><th>rank</th><th>in flight</th><th "
         "class=\"wide\">over the step"
         "</th><th>activations, "
         "peak</th><th>static</th><th>peak</th><th>capacity</th><th>fits</th></tr>\n";
  for (std::size_t i = 0; i < std::min(run.summary.ranks.size(), kMostRanks); ++i) {
    const RankSummary& rank = run.summary.ranks[i];
    out << "<tr><td>" << rank.rank.value << "</td><td class=\"n\">" << rank.peak_in_flight
        << "</td><td>";
    if (top > 0) write_curve(curves[i], rank, top, run.summary.makespan_s, out);
    const bool known = rank.capacity.value > 0;
    out << "</td><td class=\"n\">" << format(rank.peak_activation) << "</td><td class=\"n\">"
        << format(rank.static_memory) << "</td><td class=\"n\">" << format(rank.peak_memory)
        << "</td><td class=\"n\">" << (known ? format(rank.capacity) : std::string("unknown"))
        << "</td><td>"
        << (!known      ? "–"
            : rank.fits ? "yes"
                        : "<b class=\"bad\">no</b>")
        << "</td></tr>\n";
  }
  out << "</table>\n";
}

void write_links(const RunView& run, std::ostream& out) {
  std::vector<LinkSummary> links = run.summary.links;
  if (links.empty()) return;
  std::stable_sort(links.begin(), links.end(), [](const LinkSummary& a, const LinkSummary& b) {
    return a.utilization > b.utilization;
  });
  out << "<h2>Busiest "
         "links</h2>\n<table><tr><th>link</th><th>carried</th><th>busy</th><th>utilization</th></"
         "tr>\n";
  for (std::size_t i = 0; i < std::min(links.size(), kMostLinks); ++i)
    out << "<tr><td>" << escaped(run.platform.links[links[i].link.at()].name)
        << "</td><td class=\"n\">" << format(Bytes{links[i].bytes}) << "</td><td class=\"n\">"
        << format(Seconds{links[i].busy_s}) << "</td><td class=\"n\">"
        << percent(links[i].utilization) << "</td></tr>\n";
  out << "</table>\n";
}

void write_stages(const RunView& run, std::ostream& out) {
  out << "<h2>Stages</h2>\n<table><tr><th>stage</th><th>rank</th><th>forward</th><th>backward, "
         "input</th>"
         "<th>backward, weight</th><th>activations, peak</th></tr>\n";
  for (std::size_t i = 0; i < std::min(run.summary.stages.size(), kMostRanks); ++i) {
    const StageSummary& stage = run.summary.stages[i];
    out << "<tr><td>" << stage.stage.value << "</td><td>" << stage.rank.value
        << "</td><td class=\"n\">" << format(Seconds{stage.forward_s}) << "</td><td class=\"n\">"
        << format(Seconds{stage.backward_input_s}) << "</td><td class=\"n\">"
        << format(Seconds{stage.backward_weight_s}) << "</td><td class=\"n\">"
        << format(stage.peak_activation) << "</td></tr>\n";
  }
  out << "</table>\n";
}

void write_warnings(const RunView& run, std::ostream& out) {
  if (run.warnings.empty()) return;
  out << "<h2>Warnings</h2>\n<ul>\n";
  for (const std::string& warning : run.warnings) out << "<li>" << escaped(warning) << "</li>\n";
  out << "</ul>\n";
}

}  // namespace

void write_html_report(const RunView& run, std::ostream& out) {
  const Shape& shape = run.program.shape;
  out << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>"
      << escaped(run.scenario) << "</title>\n<style>" << kReportStyle
      << "</style></head><body>\n<h1>" << escaped(run.scenario) << "</h1>\n<p>"
      << escaped(fmt::format("{}: {} ranks, {} chunk{} per rank, {}; engine {}; platform {}",
                             run.schedule, shape.ranks, shape.chunks, shape.chunks == 1 ? "" : "s",
                             microbatches_text(run.program), run.engine, run.platform.name))
      << "</p>\n";
  write_figures(run, out);
  out << "<h2>Timeline</h2>\n<div class=\"timeline\">\n";
  write_timeline_svg(run.program, run.workload, run.graph, run.timeline, {}, out);
  out << "</div>\n";
  write_idle(run, out);
  write_memory(run, out);
  write_stages(run, out);
  write_links(run, out);
  write_warnings(run, out);
  out << fmt::format("<footer>{} tasks, digest {:016x}</footer>\n</body></html>\n",
                     run.summary.tasks, run.summary.digest);
}

}  // namespace pipecast

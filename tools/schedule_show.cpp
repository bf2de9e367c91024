#include "tools/schedule_show.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "sim/graph/task_graph.hpp"
#include "sim/report/summary.hpp"
#include "sim/report/timeline_svg.hpp"
#include "sim/report/timeline_text.hpp"
#include "sim/run/longest_path.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"
#include "tools/schedule_arguments.hpp"

namespace pipecast {
namespace {

void declare_show(CLI::App& app) {
  declare_schedule_options(app);
  integer_option(app, "--width", "COLUMNS", "columns to draw in (default: the terminal's)", 40,
                 1000);
  value_option(app, "--svg", "F.svg", "write the diagram as papers print it, too; - for only that");
}

std::string heading(const ScheduleQuery& query) {
  const Shape& shape = query.shape;
  return fmt::format("{}: {} ranks, {} chunk{} per rank, {} microbatches\n", query.schedule->name,
                     shape.ranks, shape.chunks, shape.chunks == 1 ? "" : "s", shape.microbatches);
}

std::string in_flight_text(const Summary& summary) {
  const auto less = [](const RankSummary& a, const RankSummary& b) {
    return a.peak_in_flight < b.peak_in_flight;
  };
  const auto [fewest, most] = std::minmax_element(summary.ranks.begin(), summary.ranks.end(), less);
  if (fewest->peak_in_flight == most->peak_in_flight)
    return fmt::format("{} on every rank", most->peak_in_flight);
  return fmt::format("{} on rank {}, {} on rank {}", most->peak_in_flight, most->rank.value,
                     fewest->peak_in_flight, fewest->rank.value);
}

/// What papers print about a schedule; both bubbles by name.
std::string figures(const Summary& summary) {
  return fmt::format(
      "makespan {:.10g} ticks, busiest rank {:.10g}\n"
      "bubble fraction {:.2f} %  (idle / (ranks x makespan))\n"
      "bubble overhead {:.2f} %  (makespan / busiest - 1)\n"
      "in flight at most {}\n",
      summary.makespan_s, summary.ideal_s, 100 * summary.bubble_fraction,
      100 * summary.bubble_overhead, in_flight_text(summary));
}

/// Of schedules that search: what no order within the limit can beat, and how far this one is off.
std::string bound_text(const ScheduleQuery& query, const Summary& summary) {
  if (query.schedule->lower_bound == nullptr) return {};
  const TimeBound bound =
      query.schedule->lower_bound({query.shape, query.params, query.workload, query.delay});
  const bool whole = bound.of == TimeBound::Of::Makespan;
  const double found = whole ? summary.makespan_s : summary.max_rank_span_s;
  return fmt::format("lower bound {:.10g} ticks of the {}; found {:.10g}, {:.2f} % above\n",
                     bound.at_least.value, whole ? "makespan" : "largest rank span", found,
                     bound.at_least.value > 0 ? 100 * (found / bound.at_least.value - 1) : 0.0);
}

/// The diagram with what papers say below its title; costs are ticks, so equal costs give equal
/// boxes.
Result<void> write_svg(const std::string& path, const ScheduleQuery& query, const Program& program,
                       const TaskGraph& graph, const Timeline& timeline, const Summary& summary) {
  const Shape& shape = query.shape;
  TimelineSvgOptions options;
  options.title = fmt::format("{}, {} ranks, {} microbatches", query.schedule->name, shape.ranks,
                              shape.microbatches);
  options.subtitle = fmt::format(
      "makespan {:.10g} ticks, bubble fraction {:.2f} %, bubble overhead {:.2f} %, in flight at "
      "most {}",
      summary.makespan_s, 100 * summary.bubble_fraction, 100 * summary.bubble_overhead,
      in_flight_text(summary));
  options.labels = TimeLabels::Ticks;
  return write_output(path, [&](std::ostream& out) {
    write_timeline_svg(program, query.workload, graph, timeline, options, out);
  });
}

ExitCode act_show(const CLI::App& app, const Session& session) {
  const auto query = schedule_query(app, session);
  if (!query) return query.error();
  const Result<Program> program = program_of(*query);
  if (!program) return report_faults(program.error());
  const Platform platform = constant_delay_platform(query->shape.ranks, query->delay);
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < query->shape.ranks; ++rank) devices.push_back({rank});
  const Result<TaskGraph> graph = build_task_graph(*program, query->workload, platform, devices);
  if (!graph) return report_faults(graph.error());

  const Timeline timeline = longest_path(*graph);
  const Summary summary = summarise(*program, query->workload, platform, *graph, timeline);
  const auto svg = text_of(app, "--svg");
  if (svg) {
    const Result<void> written = write_svg(*svg, *query, *program, *graph, timeline, summary);
    if (!written) return report_faults(written.error());
    if (*svg == "-") return ExitCode::Done;
  }
  const TimelineTextOptions options{
      .columns = integer_of(app, "--width").value_or(terminal_width()),
      .color = color_for(STDOUT_FILENO),
      .labels = TimeLabels::Ticks};
  std::cout << heading(*query)
            << timeline_text(*program, query->workload, *graph, timeline, options)
            << figures(summary) << bound_text(*query, summary);
  return ExitCode::Done;
}

}  // namespace

Command schedule_show_command() {
  return {.name = "show",
          .summary = "draw a schedule in the terminal",
          .example = "pipecast schedule show zb-h1 -p 4 -m 8 --costs 1,1,1",
          .declare = declare_show,
          .act = act_show};
}

}  // namespace pipecast

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/graph/fabric_traffic.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/report/link_load.hpp"
#include "sim/report/memory.hpp"
#include "sim/report/report_page.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kMostCurves = 64;
constexpr std::size_t kCurvePoints = 100'000;  ///< of all curves of a chart together
constexpr std::size_t kMostBars = 1024;
constexpr std::size_t kMostLinks = 40;
constexpr std::size_t kLinkPieces = 240;

/// Evenly spaced indices, at most `most` of `all`.
std::vector<std::size_t> spread(std::size_t all, std::size_t most) {
  std::vector<std::size_t> chosen;
  const std::size_t count = std::min(all, most);
  for (std::size_t i = 0; i < count; ++i)
    chosen.push_back(count == 1 ? 0 : i * (all - 1) / (count - 1));
  return chosen;
}

std::vector<PageLimit> capacities(const RunView& run) {
  std::set<double> values;
  for (const RankSummary& rank : run.summary.ranks)
    if (rank.capacity.value > 0) values.insert(rank.capacity.value);
  std::vector<PageLimit> limits;
  for (const double value : values) limits.push_back({"capacity " + format(Bytes{value}), value});
  if (limits.size() > 4) limits.resize(4);
  return limits;
}

PageChart memory_curves(const RunView& run) {
  PageChart chart{.title = "Memory of each rank over the step",
                  .note = "Weights, gradients and optimizer state, and the activations alive.",
                  .kind = PageChartKind::Steps,
                  .x = {.name = "", .unit = PageUnit::Time},
                  .y = {.name = "", .unit = PageUnit::Memory}};
  const auto curves = rank_curves(run.program, run.workload, run.tasks, run.timeline);
  const auto shown = spread(curves.size(), kMostCurves);
  for (const std::size_t rank : shown) {
    std::vector<double> times_s;
    std::vector<double> bytes;
    for (const MemoryPoint& point : curves[rank]) {
      times_s.push_back(point.time_s);
      bytes.push_back(point.bytes + run.summary.ranks[rank].static_memory.value);
    }
    times_s.push_back(run.summary.makespan_s);
    bytes.push_back(bytes.back());
    PageSeries series = bounded_steps(std::move(times_s), std::move(bytes), run.summary.makespan_s,
                                      kCurvePoints / shown.size());
    series.name = fmt::format("rank {}", rank);
    chart.series.push_back(std::move(series));
  }
  if (shown.size() < curves.size())
    chart.note += fmt::format(" {} of {} ranks are drawn.", shown.size(), curves.size());
  chart.limits = capacities(run);
  chart.follows_timeline = true;
  return chart;
}

PageChart memory_parts(const RunView& run) {
  PageChart chart{.title = "Peak memory of each rank by component",
                  .note = "",
                  .kind = PageChartKind::Bars,
                  .x = {.name = "", .unit = PageUnit::Memory},
                  .y = {.name = "rank"}};
  const MemoryUse use = measure_memory(run.program, run.workload, run.tasks, run.timeline);
  PageSeries parameters{.name = "parameters", .x = {}, .y = {}, .color = "parameters"};
  PageSeries gradients{.name = "gradients", .x = {}, .y = {}, .color = "gradients"};
  PageSeries optimizer{.name = "optimizer", .x = {}, .y = {}, .color = "optimizer"};
  PageSeries activations{.name = "activations", .x = {}, .y = {}, .color = "activations"};
  for (std::size_t rank = 0; rank < std::min(use.ranks.size(), kMostBars); ++rank) {
    chart.categories.push_back(fmt::format("rank {}", rank));
    parameters.y.push_back(use.ranks[rank].parameters.value);
    gradients.y.push_back(use.ranks[rank].gradients.value);
    optimizer.y.push_back(use.ranks[rank].optimizer.value);
    activations.y.push_back(use.ranks[rank].peak_activation.value);
  }
  chart.series = {parameters, gradients, optimizer, activations};
  chart.limits = capacities(run);
  return chart;
}

std::vector<LinkSummary> busiest_links(const RunView& run) {
  std::vector<LinkSummary> links = run.summary.links;
  std::stable_sort(links.begin(), links.end(), [](const LinkSummary& a, const LinkSummary& b) {
    return a.utilization > b.utilization;
  });
  if (links.size() > kMostLinks) links.resize(kMostLinks);
  return links;
}

PageTable link_table(const RunView& run, const std::vector<LinkSummary>& links) {
  PageTable table{.title = "Busiest links",
                  .note = "",
                  .columns = {"link", "carried", "busy", "utilization"},
                  .rows = {}};
  for (const LinkSummary& link : links)
    table.rows.push_back({{run.platform.links[link.link.at()].name, {}},
                          {format(Bytes{link.bytes}), link.bytes},
                          {format(Seconds{link.busy_s}), link.busy_s},
                          {fmt::format("{:.2f} %", 100 * link.utilization), link.utilization}});
  return table;
}

/// A row for each kind of traffic on each level.
PageTable traffic_table(const RunView& run) {
  PageTable table{
      .title = "Traffic by level of the fabric",
      .note =
          "Bytes of the messages that cross a level, of all replicas; a message "
          "counts on every level it crosses.",
      .columns = {"level", "links", "traffic", "messages", "bytes", "busiest link", "utilization"},
      .rows = {}};
  for (const LevelTraffic& level : run.traffic->levels)
    for (const TrafficKind kind : kTrafficKinds) {
      const Crossing& crossing = level.of(kind);
      if (crossing.bytes == 0) continue;
      const BusyLink& busiest = level.busiest.front();
      const double utilization = busiest.seconds / run.summary.makespan_s;
      table.rows.push_back({{level.level.name, {}},
                            {fmt::format("{} {}", level.level.count, level.level.links), {}},
                            {std::string(traffic_name(kind)), {}},
                            {std::to_string(crossing.messages), double(crossing.messages)},
                            {format(Bytes{crossing.bytes}), crossing.bytes},
                            {run.platform.links[busiest.link.at()].name, {}},
                            {fmt::format("{:.2f} %", 100 * utilization), utilization}});
    }
  return table;
}

}  // namespace

PageSeries bounded_steps(std::vector<double> times_s, std::vector<double> values, double length_s,
                         std::size_t most) {
  if (times_s.size() <= most || length_s <= 0 || most < 4)
    return {.name = "", .x = std::move(times_s), .y = std::move(values)};
  // Of each piece of time its largest value, from its first point on, and its last value.
  const double pieces = static_cast<double>(most / 2);
  PageSeries series;
  for (std::size_t i = 0; i < times_s.size();) {
    const double piece = std::floor(times_s[i] / length_s * pieces);
    std::size_t end = i;
    std::size_t top = i;
    for (; end < times_s.size() && std::floor(times_s[end] / length_s * pieces) == piece; ++end)
      if (values[end] > values[top]) top = end;
    series.x.push_back(times_s[i]);
    series.y.push_back(values[top]);
    if (end - 1 > i) {
      series.x.push_back(times_s[end - 1]);
      series.y.push_back(values[end - 1]);
    }
    i = end;
  }
  return series;
}

std::vector<PageBlock> memory_blocks(const RunView& run) {
  const bool any = std::any_of(run.summary.ranks.begin(), run.summary.ranks.end(),
                               [](const RankSummary& rank) { return rank.peak_memory.value > 0; });
  if (!any) return {};
  return {memory_curves(run), memory_parts(run)};
}

std::vector<PageBlock> link_blocks(const RunView& run) {
  const std::vector<LinkSummary> links = busiest_links(run);
  if (links.empty()) return {};
  PageChart chart{.title = "Utilization of the busiest links",
                  .note = "Bytes carried ÷ what the link could carry in that time.",
                  .kind = PageChartKind::Heatmap,
                  .x = {.name = "", .unit = PageUnit::Time},
                  .y = {.name = "", .unit = PageUnit::Share}};
  const auto loads = link_loads(run.platform, run.graph, run.timeline, kLinkPieces);
  for (const LinkSummary& link : links) {
    const auto load = std::find_if(loads.begin(), loads.end(), [&](const LinkLoad& candidate) {
      return candidate.link == link.link;
    });
    if (load == loads.end()) continue;
    chart.series.push_back({.name = run.platform.links[link.link.at()].name,
                            .x = {0, run.summary.makespan_s},
                            .y = load->utilization});
  }
  std::vector<PageBlock> blocks;
  if (!chart.series.empty()) blocks.emplace_back(std::move(chart));
  if (run.traffic != nullptr && !run.traffic->empty()) blocks.emplace_back(traffic_table(run));
  blocks.emplace_back(link_table(run, links));
  return blocks;
}

}  // namespace pipecast

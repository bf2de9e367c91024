#include "sim/report/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "sim/graph/task_graph.hpp"
#include "sim/report/accelerators.hpp"
#include "sim/report/critical_path.hpp"
#include "sim/report/footprint_groups.hpp"
#include "sim/report/run_timeline.hpp"
#include "sim/report/waterfall.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kMostRanks = 1024;  ///< rows of a table or chart; the JSON summary has all

std::string percent(double fraction) { return fmt::format("{:.2f} %", 100 * fraction); }

PageCell cell(Seconds time) { return {format(time), time.value}; }
PageCell cell(Bytes bytes) { return {format(bytes), bytes.value}; }
PageCell cell(std::int64_t number) { return {std::to_string(number), static_cast<double>(number)}; }

PageChart waterfall_chart(const RunView& run) {
  const Waterfall parts = waterfall(run);
  PageChart chart{
      .title = "From the ideal step to the predicted one",
      .note = fmt::format("What delays rank {}, the one that computes longest.", parts.rank.value),
      .kind = PageChartKind::Waterfall,
      .x = {},
      .y = {.name = "", .unit = PageUnit::Time}};
  PageSeries series;
  double sum = 0;
  for (const WaterfallPart& part : parts.parts) {
    sum += part.seconds;
    if (std::abs(part.seconds) < 1e-9 * run.summary.makespan_s && !series.y.empty()) continue;
    chart.categories.push_back(part.key);
    std::replace(chart.categories.back().begin(), chart.categories.back().end(), '_', ' ');
    series.y.push_back(part.seconds);
  }
  chart.categories.emplace_back("step");
  series.y.push_back(sum);
  chart.series.push_back(std::move(series));
  return chart;
}

/// What the tasks of the critical path are, in seconds.
PageTable critical_table(const RunView& run) {
  std::array<double, static_cast<std::size_t>(OpKind::Gap) + 1> seconds{};
  std::array<std::int64_t, seconds.size()> count{};
  for (const std::uint32_t task : critical_path(run.graph, run.timeline)) {
    const Interval& interval = run.timeline.intervals[task];
    const auto kind = static_cast<std::size_t>(run.tasks[task].kind);
    seconds[kind] += interval.end_s - interval.start_s;
    ++count[kind];
  }
  PageTable table{.title = "Critical path",
                  .note =
                      "The chain of operations and messages that decides how long the step "
                      "takes; the timeline marks it.",
                  .columns = {"what", "how many", "time", "share of the step"},
                  .rows = {}};
  const double makespan_s = std::max(run.summary.makespan_s, 1e-300);
  for (std::size_t kind = 0; kind < seconds.size(); ++kind)
    if (count[kind] > 0)
      table.rows.push_back({{kind == static_cast<std::size_t>(OpKind::Gap)
                                 ? std::string("pause of the runtime")
                                 : std::string(op_word(static_cast<OpKind>(kind))),
                             {}},
                            cell(count[kind]),
                            cell(Seconds{seconds[kind]}),
                            {percent(seconds[kind] / makespan_s), seconds[kind] / makespan_s}});
  return table;
}

struct IdlePart {
  const char* name;
  const char* color;
  double RankSummary::*seconds;
};
constexpr IdlePart kParts[] = {
    {"busy", "busy", &RankSummary::busy_s},
    {"warm-up", "warmup", &RankSummary::warmup_idle_s},
    {"steady", "steady", &RankSummary::steady_idle_s},
    {"cool-down", "cooldown", &RankSummary::cooldown_idle_s},
    {"waiting for a transfer", "transfer", &RankSummary::waiting_for_transfer_s}};

PageChart idle_chart(const RunView& run) {
  PageChart chart{.title = "Where the time of each rank goes",
                  .note =
                      "Idle time by cause: before the first backward, between, after the last "
                      "forward, and while the message that ends the wait is on its way.",
                  .kind = PageChartKind::Bars,
                  .x = {.name = "", .unit = PageUnit::Time},
                  .y = {.name = "rank"}};
  const std::size_t ranks = std::min(run.summary.ranks.size(), kMostRanks);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    chart.categories.push_back(fmt::format("rank {}", rank));
  for (const IdlePart& part : kParts) {
    PageSeries series{.name = part.name, .x = {}, .y = {}, .color = part.color};
    for (std::size_t rank = 0; rank < ranks; ++rank)
      series.y.push_back(run.summary.ranks[rank].*part.seconds);
    chart.series.push_back(std::move(series));
  }
  return chart;
}

PageTable rank_table(const RunView& run) {
  PageTable table{
      .title = "Ranks",
      .note = "",
      .columns = {"rank", "device", "busy", "warm-up", "steady", "cool-down", "transfer", "span",
                  "in flight", "activations", "static", "peak", "capacity", "fits"},
      .rows = {}};
  const DeviceNames names(run.platform, run.device_of_rank);
  for (std::size_t i = 0; i < std::min(run.summary.ranks.size(), kMostRanks); ++i) {
    const RankSummary& rank = run.summary.ranks[i];
    std::vector<PageCell> row{cell(std::int64_t{rank.rank.value}), {names.of(rank.device), {}}};
    for (const IdlePart& part : kParts) row.push_back(cell(Seconds{rank.*part.seconds}));
    row.push_back(cell(Seconds{rank.span_s}));
    row.push_back(cell(std::int64_t{rank.peak_in_flight}));
    row.push_back(cell(rank.peak_activation));
    row.push_back(cell(rank.static_memory));
    row.push_back(cell(rank.peak_memory));
    const bool known = rank.capacity.value > 0;
    row.push_back(known ? cell(rank.capacity) : PageCell{"unknown", {}});
    row.push_back({!known ? "–" : rank.fits ? "yes" : "no", {}});
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Memory of a model's ranks by part.
PageTable footprint_table(const RunView& run) {
  PageTable table{.title = "Memory by part",
                  .note =
                      "Of each rank at its fullest moment; the allowance is for workspace, "
                      "fragmentation and what lies outside the allocator.",
                  .columns = {"rank"},
                  .rows = {}};
  for (const FootprintGroup& group : kFootprintGroups) table.columns.emplace_back(group.name);
  table.columns.insert(table.columns.end(), {"needed", "capacity", "fits", "missing"});
  for (std::size_t i = 0; i < std::min(run.footprints.size(), kMostRanks); ++i) {
    const RankFootprint& rank = run.footprints[i];
    std::vector<PageCell> row{cell(static_cast<std::int64_t>(i))};
    for (const FootprintGroup& group : kFootprintGroups)
      row.push_back(cell(Bytes{group.of(rank.at_peak)}));
    const bool known = rank.capacity.value > 0;
    row.push_back(cell(rank.needed));
    row.push_back(known ? cell(rank.capacity) : PageCell{"unknown", {}});
    row.push_back({!known ? "–" : rank.fits ? "yes" : "no", {}});
    row.push_back(cell(missing(rank)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

PageTable stage_table(const RunView& run) {
  PageTable table{.title = "Stages",
                  .note = "",
                  .columns = {"stage", "rank", "forward", "backward, input", "backward, weight",
                              "in flight", "activations, peak"},
                  .rows = {}};
  for (std::size_t i = 0; i < std::min(run.summary.stages.size(), kMostRanks); ++i) {
    const StageSummary& stage = run.summary.stages[i];
    table.rows.push_back({cell(std::int64_t{stage.stage.value}),
                          cell(std::int64_t{stage.rank.value}), cell(Seconds{stage.forward_s}),
                          cell(Seconds{stage.backward_input_s}),
                          cell(Seconds{stage.backward_weight_s}),
                          cell(std::int64_t{stage.peak_in_flight}), cell(stage.peak_activation)});
  }
  return table;
}

void append(std::vector<PageBlock>& blocks, std::vector<PageBlock> more) {
  std::move(more.begin(), more.end(), std::back_inserter(blocks));
}

/// What a model's step is worth; its end, which the timeline does not hold, counted in.
void add_throughput(const StepEstimate& estimate, PageFigures& block) {
  block.figures.push_back(
      {"training step", format(Seconds{estimate.step_s}),
       fmt::format("on {} devices, update and gradients included", estimate.devices)});
  block.figures.push_back({"tokens/s", fmt::format("{:.0f}", estimate.tokens_per_s),
                           fmt::format("{:.1f} per device", estimate.tokens_per_s_per_device)});
  block.figures.push_back(
      {"MFU", percent(estimate.model_flops_utilization),
       fmt::format("HFU {}; {:.1f} TFLOP/s per device",
                   percent(estimate.hardware_flops_utilization), estimate.tflops_per_device)});
}

}  // namespace

std::vector<PageBlock> figure_blocks(const RunView& run) {
  const Summary& summary = run.summary;
  PageFigures block;
  block.figures = {
      {"step time (makespan)", format(Seconds{summary.makespan_s}), "start of the step to its end"},
      {"ideal", format(Seconds{summary.ideal_s}), "compute of the busiest rank"},
      {"bubble fraction", percent(summary.bubble_fraction),
       "idle time of all ranks ÷ (ranks × makespan)"},
      {"bubble overhead", percent(summary.bubble_overhead), "makespan ÷ ideal − 1"},
      {"longest rank span", format(Seconds{summary.max_rank_span_s}),
       "first to last operation of one rank"},
      {"span bubble fraction", percent(summary.span_bubble_fraction),
       "1 − ideal ÷ longest rank span"}};
  const auto fullest = std::max_element(
      summary.ranks.begin(), summary.ranks.end(),
      [](const RankSummary& a, const RankSummary& b) { return a.peak_memory < b.peak_memory; });
  if (fullest != summary.ranks.end() && fullest->peak_memory.value > 0)
    block.figures.push_back(
        {"peak memory", format(fullest->peak_memory),
         fmt::format("of rank {}{}", fullest->rank.value,
                     fullest->capacity.value > 0 ? ", whose device has " + format(fullest->capacity)
                                                 : std::string())});
  if (run.lower_bound)
    block.figures.push_back({"lower bound", format(Seconds{run.lower_bound->at_least_s}),
                             fmt::format("no order beats it here; the run is {} above",
                                         percent(run.lower_bound->gap(summary)))});
  if (summary.steps > 1)
    block.figures.push_back(
        {"one training step", format(Seconds{summary.step_s}),
         fmt::format("mean of {} steps, one's end to the next's", summary.steps)});
  if (run.estimate != nullptr) add_throughput(*run.estimate, block);
  if (run.delays != nullptr && run.delays->samples > 0)
    block.figures.push_back({"95th percentile", format(Seconds{run.delays->p95_s}),
                             fmt::format("of {} steps with jitter; median {}", run.delays->samples,
                                         format(Seconds{run.delays->median_s}))});
  return {block};
}

std::vector<PageBlock> time_blocks(const RunView& run) {
  return {waterfall_chart(run), idle_chart(run), critical_table(run)};
}

std::vector<PageBlock> table_blocks(const RunView& run) {
  std::vector<PageBlock> blocks{rank_table(run), stage_table(run)};
  if (!run.footprints.empty()) blocks.emplace_back(footprint_table(run));
  if (!run.scenario_text.empty())
    blocks.emplace_back(PageText{"The scenario that made it", std::string(run.scenario_text)});
  return blocks;
}

std::string run_subtitle(const RunView& run) {
  const Shape& shape = run.program.shape;
  return fmt::format("{}: {} ranks, {} chunk{} per rank, {}; engine {}; platform {}", run.schedule,
                     shape.ranks, shape.chunks, shape.chunks == 1 ? "" : "s",
                     microbatches_text(run.program), run.engine, run.platform.name);
}

Page run_page(const RunView& run) {
  Page page{
      .title = run.scenario,
      .subtitle = run_subtitle(run),
      .warnings = {run.warnings.begin(), run.warnings.end()},
      .blocks = figure_blocks(run),
      .sections = {},
      .footer = fmt::format("{} tasks, digest {:016x}", run.summary.tasks, run.summary.digest)};
  page.blocks.emplace_back(PageTimelines{"Timeline", "", {pack_timeline(run_timeline(run))}, {0}});
  append(page.blocks, time_blocks(run));
  append(page.blocks, memory_blocks(run));
  append(page.blocks, link_blocks(run));
  append(page.blocks, table_blocks(run));
  return page;
}

}  // namespace pipecast

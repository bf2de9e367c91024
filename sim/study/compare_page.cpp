#include "sim/study/compare_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/report/report_page.hpp"
#include "sim/report/run_timeline.hpp"

namespace pipecast {
namespace {

std::string percent(double fraction) { return fmt::format("{:.2f} %", 100 * fraction); }
PageCell share(double fraction) { return {percent(fraction), fraction}; }
PageCell quantity(Bytes bytes) { return {format(bytes), bytes.value}; }
PageCell count(std::int64_t number) {
  return {std::to_string(number), static_cast<double>(number)};
}

PageTable row_table(const std::vector<CompareRow>& rows) {
  PageTable table{
      .title = "Schedules, fastest first",
      .note =
          "Bubble: idle ÷ (ranks × step). Overhead: step ÷ busiest rank's compute − 1. Span "
          "bubble: that of the longest rank span. Activations, in flight and weights are those "
          "of the fullest rank.",
      .columns = {"schedule", "chunks", "step time", "÷ 1f1b", "bubble", "overhead", "span bubble",
                  "in flight", "activations", "weights etc.", "transfers", "fits"},
      .rows = {}};
  for (const CompareRow& row : rows) {
    if (!row.refused.empty()) continue;
    table.rows.push_back({{row.schedule, {}},
                          count(row.shape.chunks),
                          {format(Seconds{row.step_s}), row.step_s},
                          row.relative_step > 0 ? PageCell{fmt::format("{:.3f}", row.relative_step),
                                                           row.relative_step}
                                                : PageCell{"–", {}},
                          share(row.bubble_fraction),
                          share(row.bubble_overhead),
                          share(row.span_bubble_fraction),
                          count(row.largest_in_flight),
                          quantity(row.largest_peak_activation),
                          quantity(row.largest_static),
                          count(row.transfers),
                          {std::string(fit_word(fit_of(row))), {}}});
  }
  return table;
}

/// Step time against memory: what lies left and below is better.
PageChart trade_off(const std::vector<CompareRow>& rows) {
  const bool bytes = std::any_of(rows.begin(), rows.end(), [](const CompareRow& row) {
    return row.largest_peak_activation.value > 0;
  });
  PageChart chart{.title = "Step time and memory",
                  .note = "Left and low is better.",
                  .kind = PageChartKind::Scatter,
                  .x = {.name = bytes ? "activations of the fullest rank"
                                      : "microbatch-chunks alive on the fullest rank",
                        .unit = bytes ? PageUnit::Memory : PageUnit::Plain},
                  .y = {.name = "step time", .unit = PageUnit::Time}};
  PageSeries fits{.name = "fits", .x = {}, .y = {}, .labels = {}, .color = "busy"};
  PageSeries too_large{.name = "does not fit", .x = {}, .y = {}, .labels = {}, .color = "limit"};
  PageSeries unknown{
      .name = "memory of a device unknown", .x = {}, .y = {}, .labels = {}, .color = "busy"};
  for (const CompareRow& row : rows) {
    if (!row.refused.empty()) continue;
    PageSeries& series = fit_of(row) == Fit::Yes ? fits : row.fits ? unknown : too_large;
    series.x.push_back(bytes ? row.largest_peak_activation.value : row.largest_in_flight);
    series.y.push_back(row.step_s);
    series.labels.push_back(row.schedule);
  }
  for (PageSeries* series : {&fits, &unknown, &too_large})
    if (!series->x.empty()) chart.series.push_back(std::move(*series));
  return chart;
}

PageChart step_chart(const std::vector<CompareRow>& rows) {
  PageChart chart{.title = "Step time: compute of the busiest rank, and what is added to it",
                  .note = "",
                  .kind = PageChartKind::Bars,
                  .x = {.name = "", .unit = PageUnit::Time},
                  .y = {}};
  PageSeries ideal{.name = "ideal", .x = {}, .y = {}, .color = "busy"};
  PageSeries added{.name = "bubble overhead", .x = {}, .y = {}, .color = "steady"};
  for (const CompareRow& row : rows) {
    if (!row.refused.empty()) continue;
    chart.categories.push_back(row.schedule);
    ideal.y.push_back(row.step_s / (1 + row.bubble_overhead));
    added.y.push_back(row.step_s - ideal.y.back());
  }
  chart.series = {ideal, added};
  return chart;
}

PageTable refused_table(const std::vector<CompareRow>& rows) {
  PageTable table{
      .title = "Not valid here", .note = "", .columns = {"schedule", "why"}, .rows = {}};
  for (const CompareRow& row : rows)
    if (!row.refused.empty()) table.rows.push_back({{row.schedule, {}}, {row.refused, {}}});
  return table;
}

/// In the order of the rows.
void sort_like(std::vector<ComparedRun>& runs, const std::vector<CompareRow>& rows) {
  const auto place = [&](const ComparedRun& run) {
    return std::find_if(rows.begin(), rows.end(),
                        [&](const CompareRow& row) { return row.schedule == run.schedule; }) -
           rows.begin();
  };
  std::stable_sort(runs.begin(), runs.end(),
                   [&](const ComparedRun& a, const ComparedRun& b) { return place(a) < place(b); });
}

PageTimelines timelines(std::vector<ComparedRun>& runs) {
  PageTimelines block{.title = "Timelines",
                      .note = "On one axis of time; choose which are shown.",
                      .runs = {},
                      .shown = {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i == 0 || runs[i].schedule == "1f1b") block.shown.push_back(i);
    block.runs.push_back(std::move(runs[i].timeline));
  }
  return block;
}

}  // namespace

std::size_t compared_boxes(std::size_t runs) {
  constexpr std::size_t kBoxes = 3'000'000;
  return kBoxes / std::max<std::size_t>(runs, 1);
}

ComparedRun compared_run(const RunView& run, std::size_t most_boxes) {
  ComparedRun kept{run.schedule,
                   pack_timeline(run_timeline(run, {most_boxes})),
                   {run.schedule, figure_blocks(run)}};
  for (auto make : {time_blocks, memory_blocks, link_blocks, table_blocks}) {
    std::vector<PageBlock> blocks = make(run);
    std::move(blocks.begin(), blocks.end(), std::back_inserter(kept.details.blocks));
  }
  return kept;
}

Page compare_page(std::string_view scenario, std::string_view engine,
                  std::string_view scenario_text, const std::vector<CompareRow>& rows,
                  std::vector<ComparedRun> runs) {
  const PageTable refused = refused_table(rows);
  Page page{.title = std::string(scenario),
            .subtitle = fmt::format("{} schedules compared; engine {}", runs.size(), engine),
            .warnings = {},
            .blocks = {row_table(rows), trade_off(rows), step_chart(rows)},
            .sections = {},
            .footer = refused.rows.empty()
                          ? std::string("every schedule asked for is valid here")
                          : fmt::format("{} schedules are not valid here", refused.rows.size())};
  sort_like(runs, rows);
  page.blocks.emplace_back(timelines(runs));
  if (!refused.rows.empty()) page.blocks.emplace_back(refused);
  if (!scenario_text.empty())
    page.blocks.emplace_back(PageText{"The scenario that made it", std::string(scenario_text)});
  for (ComparedRun& run : runs) page.sections.push_back(std::move(run.details));
  return page;
}

}  // namespace pipecast

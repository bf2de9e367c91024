#include "sim/study/import_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/report/report_page.hpp"
#include "sim/report/run_timeline.hpp"
#include "sim/study/import_words.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kMostRows = 1024;
constexpr std::size_t kMostCurves = 64;
constexpr std::size_t kCurvePoints = 100'000;  ///< of all curves of a chart together

PageCell time(double seconds) { return {signed_time(seconds), seconds}; }
PageCell count(std::int64_t number) {
  return {std::to_string(number), static_cast<double>(number)};
}
PageCell share(double fraction) { return {signed_percent(fraction), fraction}; }
PageCell text(std::string_view words) { return {std::string(words), {}}; }

PageFigures figures(const ImportReport& report) {
  const MeasuredComparison& comparison = report.comparison;
  const ExcessTime& path = comparison.excess.path;
  const MeasuredProfile& profile = report.profile;
  PageFigures block;
  block.figures = {
      {"measured", format(Seconds{comparison.measured_s}), comparison.step},
      {"predicted", format(Seconds{comparison.predicted_s}), prediction_source(comparison)},
      {"error", signed_percent(comparison.error()), "predicted ÷ measured − 1"},
      {"ideal", format(Seconds{path.ideal_s}), ideal_meaning(comparison)},
      {"gap", format(Seconds{profile.gap.mean_s}),
       fmt::format("mean pause between operations of a rank, of {}", profile.gap.count)},
      {"message", format(Seconds{profile.message.median_s}),
       fmt::format("median from the producer's end to the consumer's begin, of {}",
                   profile.message.count)}};
  if (profile.slow_stage)
    block.figures.push_back(
        {"slow stage", fmt::format("{}", profile.slow_stage->value),
         fmt::format("{}its operations take {} over the median stage",
                     profile.slow_stage->value + 1 == profile.shape.stages() ? "the last; " : "",
                     signed_percent(profile.slow_excess))});
  return block;
}

PageTimelines timelines(const MeasuredComparison& comparison) {
  RunView measured = comparison.measured.view();
  RunView predicted = comparison.predicted.view();
  measured.schedule = "measured";
  predicted.schedule = "predicted";
  return {.title = "Measured and predicted",
          .note =
              "On one axis of time. An operation begins when its input was there; messages are "
              "drawn from the end of their producer.",
          .runs = {pack_timeline(run_timeline(measured)), pack_timeline(run_timeline(predicted))},
          .shown = {0, 1}};
}

PageChart excess_chart(const MeasuredComparison& comparison) {
  PageChart chart{
      .title = "From the ideal step to the measured one",
      .note =
          "Along the critical path of the measured step: the chain of operations that each "
          "waited for the one before.",
      .kind = PageChartKind::Waterfall,
      .x = {},
      .y = {.name = "", .unit = PageUnit::Time}};
  PageSeries series;
  for (const ExcessPart& part : excess_parts(comparison)) {
    if (part.seconds == 0 && !series.y.empty()) continue;
    chart.categories.push_back(part.name);
    series.y.push_back(part.seconds);
    chart.note += fmt::format(" {}: {}.", part.name, part.meaning);
  }
  chart.categories.emplace_back("measured");
  series.y.push_back(comparison.measured_s);
  chart.series.push_back(std::move(series));
  return chart;
}

struct RankPart {
  const char* name;
  const char* color;
  double RankExcess::*seconds;
};
constexpr RankPart kRankParts[] = {{"ideal", "busy", &RankExcess::ideal_s},
                                   {"overshoot", "steady", &RankExcess::operations_s},
                                   {"gaps", "warmup", &RankExcess::gaps_s},
                                   {"messages", "transfer", &RankExcess::messages_s},
                                   {"waiting", "cooldown", &RankExcess::waiting_s}};

PageChart rank_chart(const MeasuredExcess& excess) {
  PageChart chart{.title = "Where the measured time of each rank goes",
                  .note =
                      "Waiting: for a producer that was not done yet, and for the step to begin "
                      "and end.",
                  .kind = PageChartKind::Bars,
                  .x = {.name = "", .unit = PageUnit::Time},
                  .y = {.name = "rank"}};
  const std::size_t ranks = std::min(excess.ranks.size(), kMostRows);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    chart.categories.push_back(fmt::format("rank {}", rank));
  for (const RankPart& part : kRankParts) {
    PageSeries series{.name = part.name, .x = {}, .y = {}, .color = part.color};
    for (std::size_t rank = 0; rank < ranks; ++rank)
      series.y.push_back(excess.ranks[rank].*part.seconds);
    chart.series.push_back(std::move(series));
  }
  return chart;
}

/// How much later each rank ends its operations than predicted, over the step: where a curve rises
/// the measured run lost time.
PageChart delay_chart(const MeasuredComparison& comparison, const MeasuredStep& measured) {
  PageChart chart{.title = "How far each rank is behind the prediction",
                  .note =
                      "Measured end − predicted end of each operation: where a curve rises, the "
                      "measured run loses time.",
                  .kind = PageChartKind::Steps,
                  .x = {.name = "", .unit = PageUnit::Time},
                  .y = {.name = "", .unit = PageUnit::Time}};
  const MeasuredStep predicted = step_of_run(comparison.predicted);
  std::map<std::tuple<OpKind, int, int>, double> end_s;
  for (const MeasuredRank& rank : predicted.ranks)
    for (const MeasuredOp& op : rank.ops)
      end_s[{op.kind, op.stage.value, op.microbatch.value}] = op.end_s;
  const std::size_t shown = std::min(measured.ranks.size(), kMostCurves);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t rank = shown == 1 ? 0 : i * (measured.ranks.size() - 1) / (shown - 1);
    std::vector<double> times_s{0}, behind_s{0};
    for (const MeasuredOp& op : measured.ranks[rank].ops) {
      times_s.push_back(op.end_s);
      behind_s.push_back(op.end_s - end_s.at({op.kind, op.stage.value, op.microbatch.value}));
    }
    PageSeries series = bounded_steps(std::move(times_s), std::move(behind_s),
                                      comparison.measured_s, kCurvePoints / shown);
    series.name = fmt::format("rank {}", rank);
    chart.series.push_back(std::move(series));
  }
  if (shown < measured.ranks.size())
    chart.note += fmt::format(" {} of {} ranks are drawn.", shown, measured.ranks.size());
  chart.follows_timeline = true;
  return chart;
}

PageTable rank_table(const MeasuredComparison& comparison) {
  PageTable table{.title = "Ranks",
                  .note = "Measured beside predicted, and the parts of the measured time.",
                  .columns = {"rank", "busy", "predicted busy", "ends", "predicted end", "behind",
                              "overshoot", "gaps", "messages", "waiting"},
                  .rows = {}};
  for (std::size_t i = 0; i < std::min(comparison.ranks.size(), kMostRows); ++i) {
    const RankComparison& rank = comparison.ranks[i];
    const RankExcess& parts = comparison.excess.ranks[i];
    table.rows.push_back(
        {count(rank.rank.value), time(rank.measured_busy_s), time(rank.predicted_busy_s),
         time(rank.measured_end_s), time(rank.predicted_end_s),
         time(rank.measured_end_s - rank.predicted_end_s), time(parts.operations_s),
         time(parts.gaps_s), time(parts.messages_s), time(parts.waiting_s)});
  }
  return table;
}

PageTable operation_table(const MeasuredComparison& comparison) {
  PageTable table{.title = "Operations of each stage",
                  .note = "Spread: median distance from the median × 1.4826.",
                  .columns = {"stage", "rank", "operation", "count", "measured median", "predicted",
                              "difference", "spread", "shortest", "longest"},
                  .rows = {}};
  const auto foreseen_s = [&](const OperationProfile& operation) {
    for (const OperationProfile& other : comparison.foreseen)
      if (other.stage == operation.stage && other.kind == operation.kind) return other.median_s;
    return 0.0;
  };
  for (const OperationProfile& operation : comparison.operations) {
    if (table.rows.size() == kMostRows) break;
    const double predicted_s = foreseen_s(operation);
    table.rows.push_back(
        {count(operation.stage.value), count(operation.rank.value), text(kind_word(operation.kind)),
         count(operation.count), time(operation.median_s), time(predicted_s),
         share(predicted_s > 0 ? operation.median_s / predicted_s - 1 : 0),
         time(operation.spread_s), time(operation.shortest_s), time(operation.longest_s)});
  }
  return table;
}

PageTable excess_table(const MeasuredComparison& comparison) {
  PageTable table{.title = "What the excess is made of",
                  .note = fmt::format("Of every operation of the step, not only of its critical "
                                      "path. Overshoot: beyond the ideal ({}).",
                                      ideal_meaning(comparison)),
                  .columns = {"what", "count", "median", "95 of 100 at most", "99 of 100 at most"},
                  .rows = {}};
  for (const ExcessLine& line : excess_lines(comparison.excess))
    table.rows.push_back({text(line.name), count(line.values.count), time(line.values.p50_s),
                          time(line.values.p95_s), time(line.values.p99_s)});
  return table;
}

PageTable difference_table(const MeasuredComparison& comparison) {
  PageTable table{.title = "Where measured and predicted differ",
                  .note =
                      "Largest first: what is beyond the prediction by more than a tenth of a "
                      "usual forward.",
                  .columns = {"what", "rank", "operation", "more"},
                  .rows = {}};
  for (const Difference& difference : comparison.differences) {
    if (table.rows.size() == kMostRows) break;
    const bool whole_rank = difference.sort == Difference::Sort::Straggler;
    table.rows.push_back({text(difference_name(difference.sort)), count(difference.rank.value),
                          text(whole_rank ? "all" : op_text(difference.op)),
                          time(difference.seconds)});
  }
  return table;
}

PageTable outlier_table(const MeasuredProfile& profile) {
  PageTable table{.title = "Outliers of the profile",
                  .note = "Operations more than 4 spreads and 10 % from the median of their kind.",
                  .columns = {"rank", "operation", "took", "usual", "in steps", "of"},
                  .rows = {}};
  for (const MeasuredOutlier& outlier : profile.outliers) {
    if (table.rows.size() == kMostRows) break;
    table.rows.push_back({count(outlier.rank.value), text(op_text(outlier.op)),
                          time(outlier.seconds), time(outlier.median_s), count(outlier.steps),
                          count(outlier.of_steps)});
  }
  return table;
}

}  // namespace

Page import_page(const ImportReport& report, std::string_view scenario_text) {
  const MeasuredComparison& comparison = report.comparison;
  Page page{.title = "Measured and predicted",
            .subtitle = run_words(report),
            .warnings = report.run.notes,
            .blocks = {figures(report), timelines(comparison), excess_chart(comparison),
                       rank_chart(comparison.excess),
                       delay_chart(comparison, report.run.steps.back()), excess_table(comparison)},
            .sections = {},
            .footer = fmt::format("measured: {}", comparison.step)};
  for (PageTable table : {difference_table(comparison), outlier_table(report.profile),
                          rank_table(comparison), operation_table(comparison)})
    if (!table.rows.empty()) page.blocks.emplace_back(std::move(table));
  if (!scenario_text.empty())
    page.blocks.emplace_back(
        PageText{"The scenario it is held against", std::string(scenario_text)});
  return page;
}

}  // namespace pipecast

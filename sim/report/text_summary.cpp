#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "sim/base/quantity.hpp"
#include "sim/graph/fabric_traffic.hpp"
#include "sim/report/accelerators.hpp"
#include "sim/report/exporters.hpp"
#include "sim/report/footprint_groups.hpp"

namespace pipecast {
namespace {

std::string percent(double fraction) { return fmt::format("{:.2f} %", 100 * fraction); }

std::string seconds(double value) { return format(Seconds{value}); }

/// Columns as wide as their widest cell; the first is left-aligned, the others to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string text() const {
    std::vector<std::size_t> widths(rows_.front().size(), 0);
    for (const auto& row : rows_)
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    std::string result;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i)
        line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                       : fmt::format("  {:>{}}", row[i], widths[i]);
      result += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return result;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Calls row(i) for the first and last of `count` rows and skip(n) where n are left out.
template <class Row, class Skip>
void ends_of(std::size_t count, Row row, Skip skip) {
  const std::size_t half = count <= kMaxTableRows ? count : kMaxTableRows / 2;
  for (std::size_t i = 0; i < half; ++i) row(i);
  if (half == count) return;
  skip(count - 2 * half);
  for (std::size_t i = count - half; i < count; ++i) row(i);
}

std::string heading(const RunView& run) {
  const Shape& shape = run.program.shape;
  std::string text = run.scenario + "\n";
  text += fmt::format("schedule {}: {} ranks, {} chunk{} per rank, {}; engine {}\n\n", run.schedule,
                      shape.ranks, shape.chunks, shape.chunks == 1 ? "" : "s",
                      microbatches_text(run.program), run.engine);
  return text;
}

std::string totals(const RunView& run) {
  const Summary& summary = run.summary;
  const auto line = [](std::string_view name, const std::string& value, std::string_view meaning) {
    return fmt::format("{:<22}{:>12}   {}\n", name, value, meaning);
  };
  const std::string steps =
      summary.steps == 1
          ? line("step time (makespan)", seconds(summary.makespan_s),
                 "start of the step to its end")
          : line("step time", seconds(summary.step_s), "from the end of one step to the next's") +
                line("makespan", seconds(summary.makespan_s),
                     fmt::format("of {} steps without a flush", summary.steps));
  return steps + line("ideal", seconds(summary.ideal_s), "compute of the busiest rank") +
         line("bubble fraction", percent(summary.bubble_fraction),
              "idle time of all ranks / (ranks x makespan)") +
         line("bubble overhead", percent(summary.bubble_overhead), "makespan / ideal - 1") +
         line("longest rank span", seconds(summary.max_rank_span_s),
              "first to last operation of one rank") +
         line("span bubble fraction", percent(summary.span_bubble_fraction),
              "1 - ideal / longest rank span") +
         (run.lower_bound
              ? line("lower bound", seconds(run.lower_bound->at_least_s),
                     fmt::format("{} of any order within the limit; here {:.2f} % more",
                                 run.lower_bound->of_makespan ? "makespan" : "longest span",
                                 100 * run.lower_bound->gap(summary)))
              : "") +
         "\n";
}

/// Throughput and what the step is made of; nothing where costs do not come from a model.
std::string model_step(const RunView& run) {
  if (run.estimate == nullptr) return "";
  const StepEstimate& step = *run.estimate;
  std::string text = fmt::format(
      "training step on {} devices: {}\n{:.0f} tokens/s, {:.1f} per device; {:.1f} TFLOP/s per "
      "device; MFU {}, HFU {}\n\nfrom the ideal to the predicted step\n",
      step.devices, seconds(step.step_s), step.tokens_per_s, step.tokens_per_s_per_device,
      step.tflops_per_device, percent(step.model_flops_utilization),
      percent(step.hardware_flops_utilization));
  for (const WaterfallPart& part : step.waterfall) {
    if (part.seconds == 0) continue;
    const std::string value =
        part.seconds < 0 ? "-" + seconds(-part.seconds) : seconds(part.seconds);
    text += fmt::format("{:<22}{:>12}   {:>8}   {}\n", part.key, value,
                        percent(part.seconds / step.step_s), part.meaning);
  }
  return text + fmt::format("{:<22}{:>12}\n\n", "step", seconds(step.step_s));
}

std::string time_table(const RunView& run) {
  std::vector<std::string> titles{"rank", "device"};
  const bool mixed = on_several_accelerators(run.platform, run.device_of_rank);
  if (mixed) titles.emplace_back("accelerator");
  titles.insert(titles.end(), {"busy", "idle", "warm-up", "steady", "cool-down", "transfer"});
  const bool gaps = std::any_of(run.summary.ranks.begin(), run.summary.ranks.end(),
                                [](const RankSummary& rank) { return rank.gap_s > 0; });
  if (gaps) titles.emplace_back("(of it gaps)");
  Table table(std::move(titles));
  ends_of(
      run.summary.ranks.size(),
      [&](std::size_t i) {
        const RankSummary& rank = run.summary.ranks[i];
        std::vector<std::string> row{std::to_string(rank.rank.value),
                                     run.platform.devices[rank.device.at()].name};
        if (mixed) row.push_back(run.platform.devices[rank.device.at()].accelerator);
        for (const double part : {rank.busy_s, rank.idle_s, rank.warmup_idle_s, rank.steady_idle_s,
                                  rank.cooldown_idle_s, rank.waiting_for_transfer_s})
          row.push_back(seconds(part));
        if (gaps) row.push_back(seconds(rank.gap_s));
        table.add(std::move(row));
      },
      [&](std::size_t left_out) { table.add({fmt::format("... {} more", left_out)}); });
  return "time per rank; idle = warm-up + steady + cool-down + waiting for a transfer\n" +
         table.text() + "\n";
}

/// Every part of a model's memory at the fullest moment of each rank.
std::string footprint_table(const RunView& run) {
  std::vector<std::string> titles{"rank"};
  for (const FootprintGroup& group : kFootprintGroups) titles.emplace_back(group.name);
  titles.insert(titles.end(), {"needed", "capacity", "fits"});
  Table table(std::move(titles));
  ends_of(
      run.footprints.size(),
      [&](std::size_t i) {
        const RankFootprint& rank = run.footprints[i];
        std::vector<std::string> row{std::to_string(i)};
        for (const FootprintGroup& group : kFootprintGroups)
          row.push_back(format(Bytes{group.of(rank.at_peak)}));
        row.push_back(format(rank.needed));
        const bool known = rank.capacity.value > 0;
        row.push_back(known ? format(rank.capacity) : "unknown");
        row.push_back(!known      ? "-"
                      : rank.fits ? "yes"
                                  : "NO, " + format(missing(rank)) + " missing");
        table.add(std::move(row));
      },
      [&](std::size_t left_out) { table.add({fmt::format("... {} more", left_out)}); });
  return "memory per rank at its fullest moment, by part\n" + table.text() + "\n";
}

std::string memory_table(const RunView& run) {
  if (!run.footprints.empty()) return footprint_table(run);
  const bool versions =
      std::any_of(run.summary.ranks.begin(), run.summary.ranks.end(),
                  [](const RankSummary& rank) { return rank.weight_versions > 1; });
  std::vector<std::string> titles{"rank", "in flight", "activations", "static",
                                  "peak", "capacity",  "fits"};
  if (versions) titles.insert(titles.end(), {"weight versions", "updates behind"});
  Table table(std::move(titles));
  ends_of(
      run.summary.ranks.size(),
      [&](std::size_t i) {
        const RankSummary& rank = run.summary.ranks[i];
        const bool known = rank.capacity.value > 0;
        std::vector<std::string> row{std::to_string(rank.rank.value),
                                     std::to_string(rank.peak_in_flight),
                                     format(rank.peak_activation),
                                     format(rank.static_memory),
                                     format(rank.peak_memory),
                                     known ? format(rank.capacity) : "unknown",
                                     !known      ? "-"
                                     : rank.fits ? "yes"
                                                 : "NO"};
        if (versions) {
          row.push_back(std::to_string(rank.weight_versions));
          row.push_back(std::to_string(rank.weight_staleness));
        }
        table.add(std::move(row));
      },
      [&](std::size_t left_out) { table.add({fmt::format("... {} more", left_out)}); });
  return "peak memory per rank\n" + table.text() + "\n";
}

/// The links that were busy longest; without bytes there is nothing to say.
std::string link_table(const RunView& run) {
  std::vector<LinkSummary> links = run.summary.links;
  std::stable_sort(links.begin(), links.end(),
                   [](const LinkSummary& a, const LinkSummary& b) { return a.busy_s > b.busy_s; });
  if (links.empty()) return "";
  constexpr std::size_t kShown = 8;
  Table table({"link", "carried", "busy", "utilization"});
  for (std::size_t i = 0; i < std::min(links.size(), kShown); ++i)
    table.add({run.platform.links[links[i].link.at()].name, format(Bytes{links[i].bytes}),
               seconds(links[i].busy_s), percent(links[i].utilization)});
  return fmt::format("busiest links ({} of {})\n", std::min(links.size(), kShown), links.size()) +
         table.text() + "\n";
}

/// Bytes of the messages that cross each level, by what they are for, and its busiest link.
std::string traffic_table(const RunView& run) {
  if (run.traffic == nullptr || run.traffic->empty()) return "";
  std::vector<TrafficKind> kinds;
  std::vector<std::string> titles{"level", "links"};
  for (const TrafficKind kind : kTrafficKinds) {
    const auto& levels = run.traffic->levels;
    if (std::all_of(levels.begin(), levels.end(),
                    [&](const LevelTraffic& level) { return level.of(kind).bytes == 0; }))
      continue;
    kinds.push_back(kind);
    titles.emplace_back(traffic_name(kind));
  }
  titles.insert(titles.end(), {"busiest link", "carried", "utilization"});
  Table table(std::move(titles));
  for (const LevelTraffic& level : run.traffic->levels) {
    std::vector<std::string> row{level.level.name,
                                 fmt::format("{} {}", level.level.count, level.level.links)};
    for (const TrafficKind kind : kinds) row.push_back(format(Bytes{level.of(kind).bytes}));
    if (!level.busiest.empty()) {
      const BusyLink& busiest = level.busiest.front();
      row.insert(row.end(),
                 {run.platform.links[busiest.link.at()].name, format(Bytes{busiest.bytes}),
                  percent(busiest.seconds / run.summary.makespan_s)});
    }
    table.add(std::move(row));
  }
  return "bytes of the messages that cross each level of the fabric, of all replicas\n" +
         table.text() + "\n";
}

/// What follows the pipeline: gradients between replicas, and the update.
std::string exchange_text(const RunView& run) {
  const auto slowest = std::max_element(run.summary.ranks.begin(), run.summary.ranks.end(),
                                        [](const RankSummary& a, const RankSummary& b) {
                                          return a.exposed_collectives_s + a.optimizer_s <
                                                 b.exposed_collectives_s + b.optimizer_s;
                                        });
  std::string text;
  if (run.replicas > 1)
    text = fmt::format("{} replicas, {} simulated\n", run.replicas,
                       run.replicas_simulated == 1 ? "one that stands for all" : "all of them");
  if (slowest != run.summary.ranks.end() &&
      slowest->exposed_collectives_s + slowest->optimizer_s > 0)
    text += fmt::format(
        "after the last operation, longest on rank {}: gradients and parameters {}, "
        "update {}\n",
        slowest->rank.value, seconds(slowest->exposed_collectives_s),
        seconds(slowest->optimizer_s));
  return text.empty() ? text : text + "\n";
}

/// The ranks that imperfect machines make the step wait for, worst first.
std::string delay_text(const RunView& run) {
  if (run.delays == nullptr) return "";
  const Delays& delays = *run.delays;
  std::string text;
  if (delays.samples > 0)
    text = fmt::format("{} steps with jitter: median {}, 95th percentile {}, from {} to {}\n",
                       delays.samples, seconds(delays.median_s), seconds(delays.p95_s),
                       seconds(delays.least_s), seconds(delays.most_s));
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < delays.blame_s.size(); ++rank)
    if (delays.blame_s[rank] > 0) ranks.push_back(rank);
  std::stable_sort(ranks.begin(), ranks.end(), [&](std::size_t a, std::size_t b) {
    return delays.blame_s[a] > delays.blame_s[b];
  });
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < std::min(kShown, ranks.size()); ++i)
    text += fmt::format("rank {} adds {} to the step by operations slower than {}\n", ranks[i],
                        seconds(delays.blame_s[ranks[i]]),
                        run.workload.on.empty() ? "ordinary" : "on the fastest accelerator");
  return text.empty() ? text : text + "\n";
}

}  // namespace

void write_text_summary(const RunView& run, std::ostream& out) {
  out << heading(run) << totals(run) << model_step(run) << exchange_text(run) << delay_text(run)
      << time_table(run) << memory_table(run) << traffic_table(run) << link_table(run);
  for (const std::string& warning : run.warnings) out << "warning: " << warning << "\n";
  out << fmt::format("{} tasks, digest {:016x}\n", run.summary.tasks, run.summary.digest);
}

}  // namespace pipecast

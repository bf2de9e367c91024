#include "sim/study/gallery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>

#include "sim/graph/task_graph.hpp"
#include "sim/report/summary.hpp"
#include "sim/report/timeline_text.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/study/formulas.hpp"

namespace pipecast {
namespace {

constexpr int kRanks = 4;

/// Advice that no field of the registry holds; a schedule without a line has its summary.
constexpr std::array kWhenToUse = {
    std::pair{"gpipe", "few microbatches, much memory, or recomputation of whole stages"},
    std::pair{"1f1b", "the default: as fast as gpipe with free messages, memory of P microbatches"},
    std::pair{"eager-1f1b", "slow networks between ranks: buys slack for messages with memory"},
    std::pair{"1f1b-bpipe", "the first ranks run out of memory and the last have plenty"},
    std::pair{"interleaved-1f1b",
              "few microbatches per rank, a fast network and some spare memory"},
    std::pair{"combined-1f1b", "expert all-to-all that hides behind the other pass of a pair"},
    std::pair{"group-interleaved", "split backwards without the bookkeeping of pending gradients"},
    std::pair{"looped-bfs", "sharded parameters: each chunk is gathered once per step"},
    std::pair{"zb-h1", "1F1B's memory and a third of its bubble, when backwards can be split"},
    std::pair{"zb-h2", "twice the memory of 1F1B is there, and no barrier ends the step"},
    std::pair{"interleaved-zb", "interleaving and split backwards together"},
    std::pair{"zbv", "1F1B's memory, almost no idle time inside a rank, two chunks per rank"},
    std::pair{"zb-auto", "unequal costs or a given memory limit: let the order be searched"},
    std::pair{"zb-v-auto", "the same with two chunks per rank in a V"},
    std::pair{"v-half", "half of 1F1B's activations for a longer step"},
    std::pair{"v-min", "a third of 1F1B's activations, memory is everything"},
    std::pair{"v-1f1b", "two thirds of 1F1B's activations without splitting backwards"},
    std::pair{"dualpipe",
              "communication inside passes that overlaps the other direction; two copies"},
    std::pair{"dualpipe-v", "the same with one copy of the weights on half of the ranks"},
    std::pair{"chimera", "forward and backward of equal length, memory for two copies"},
    std::pair{"hanayo", "as many microbatches as ranks, no second copy"},
    std::pair{"pipedream", "stale weights are acceptable: no flush at all"},
    std::pair{"pipedream-2bw", "the same with two versions of the weights only"},
    std::pair{"seq1f1b", "long sequences: bubble and activations shrink with the cuts"},
    std::pair{"forward-only", "inference"},
    std::pair{"forward-only-interleaved", "inference with several chunks per rank"},
};

std::string_view advice(const ScheduleInfo& schedule) {
  for (const auto& [name, text] : kWhenToUse)
    if (schedule.name == name) return text;
  return schedule.summary;
}

/// A program on the smallest of a few shapes that suits the schedule.
struct Drawn {
  Program program;
  Workload workload;
  int microbatches = 0;
};

std::optional<Drawn> drawn(const ScheduleInfo& schedule) {
  const auto params = parse_fields(schedule.fields, {});
  if (!params) return std::nullopt;
  for (const int microbatches : {8, 16}) {
    const Shape shape{kRanks, schedule.default_chunks, microbatches};
    Workload workload = uniform_workload(shape, {{1.0}, {1.0}, {1.0}});
    Result<Program> program = make_program(schedule, {shape, *params, workload});
    if (program) return Drawn{std::move(*program), std::move(workload), microbatches};
  }
  return std::nullopt;
}

void write_diagram(const Drawn& drawn, std::ostream& out) {
  const int ranks = drawn.program.shape.ranks;
  const Platform platform = constant_delay_platform(ranks, {});
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back({rank});
  const Result<TaskGraph> graph =
      build_task_graph(drawn.program, drawn.workload, platform, devices);
  if (!graph) return;
  const Timeline timeline = longest_path(*graph);
  const Summary summary = summarise(drawn.program, drawn.workload, platform, *graph, timeline);
  int most = 0;
  for (const RankSummary& rank : summary.ranks) most = std::max(most, rank.peak_in_flight);
  out << "```\n"
      << timeline_text(drawn.program, drawn.workload, *graph, timeline,
                       {.columns = 110, .labels = TimeLabels::Ticks})
      << "```\n\n"
      << fmt::format(
             "{} ranks, {} chunk{} per rank, {} microbatches: makespan {:.10g}, busiest rank "
             "{:.10g}, "
             "idle / total {:.1f} %, span bubble {:.1f} %, at most {} chunk activations on a "
             "rank.\n\n",
             ranks, drawn.program.shape.chunks, drawn.program.shape.chunks == 1 ? "" : "s",
             drawn.microbatches, summary.makespan_s, summary.ideal_s, 100 * summary.bubble_fraction,
             100 * summary.span_bubble_fraction, most);
}

}  // namespace

void write_gallery(std::span<const ScheduleInfo> schedules, std::ostream& out) {
  out << "# Schedule gallery\n\n"
         "Every schedule of the registry, drawn with F = I = W = 1 and free messages. Made by\n\n"
         "```sh\npipecast schedule gallery -o gallery.md\n```\n\n"
         "Whether a closed form holds, and when: [formulas.md](formulas.md).\n";
  const std::vector<FormulaInfo> formulas = known_formulas();
  for (const ScheduleInfo& schedule : schedules) {
    out << "\n## " << schedule.name << "\n\n"
        << schedule.summary << ".\n\n**Use it for** " << advice(schedule) << ".\n\n";
    if (const std::optional<Drawn> run = drawn(schedule)) write_diagram(*run, out);
    for (const FormulaInfo& formula : formulas)
      if (formula.schedule == schedule.name && formula.quantity != FormulaQuantity::Samples)
        out << fmt::format("- {}: `{}`\n", quantity_name(formula.quantity), formula.text);
    out << "\nOrder: " << schedule.provenance << ".\n";
  }
}

}  // namespace pipecast

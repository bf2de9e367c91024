#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/report/summary.hpp"
#include "sim/run/longest_path.hpp"

namespace pipecast::testing {

/// A run of the longest-path evaluator and what it was made of.
struct LawRun {
  Program program;
  Workload workload;
  Platform platform;
  TaskGraph graph;
  Timeline timeline;
  Summary summary;
};

inline LawRun run_program(Program program, Workload workload, Platform platform) {
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < program.shape.ranks; ++rank) devices.push_back({rank});
  TaskGraph graph = build_task_graph(program, workload, platform, devices).value();
  Timeline timeline = longest_path(graph);
  Summary summary = summarise(program, workload, platform, graph, timeline);
  return {std::move(program), std::move(workload), std::move(platform),
          std::move(graph),   std::move(timeline), std::move(summary)};
}

/// The program of a registered schedule, or nothing when the shape does not suit it.
inline std::optional<Program> program_of(const ScheduleInfo& schedule, const Shape& shape,
                                         const Workload& workload) {
  auto program =
      make_program(schedule, {shape, parse_fields(schedule.fields, {}).value(), workload});
  if (!program) return std::nullopt;
  return *std::move(program);
}

inline std::string describe(const ScheduleInfo& schedule, const Shape& shape) {
  return std::string(schedule.name) + " P=" + std::to_string(shape.ranks) +
         " v=" + std::to_string(shape.chunks) + " m=" + std::to_string(shape.microbatches);
}

/// Calls visit(schedule, program) for every registered schedule on every shape up to the given one
/// that suits it.
template <class Visit>
void for_every_schedule(const Shape& largest, Visit visit) {
  for (const ScheduleInfo& schedule : builtin_schedules())
    for (int ranks = 1; ranks <= largest.ranks; ++ranks)
      for (int chunks = 1; chunks <= largest.chunks; ++chunks)
        for (int microbatches = 1; microbatches <= largest.microbatches; ++microbatches) {
          const Shape shape{ranks, chunks, microbatches};
          const Workload workload = uniform_workload(shape, {{1}, {1}, {1}});
          if (const auto program = program_of(schedule, shape, workload)) visit(schedule, *program);
        }
}

}  // namespace pipecast::testing

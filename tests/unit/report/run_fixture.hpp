#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/report/run_view.hpp"
#include "sim/report/summary.hpp"

namespace pipecast::testing {

inline Op make_test_op(OpKind kind, int stage, int microbatch, bool joined = false) {
  return {.kind = kind, .joined = joined, .stage = {stage}, .microbatch = {microbatch}};
}

/// 1F1B written out, so that these tests need no schedule of the registry.
inline Program one_f_one_b_program(int ranks, int microbatches) {
  Program program;
  program.shape = {ranks, 1, microbatches};
  program.placement = loop_placement(program.shape);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Op> ops;
    const int warmup = std::min(microbatches, ranks - 1 - rank);
    for (int i = 0; i < warmup; ++i) ops.push_back(make_test_op(OpKind::Forward, rank, i));
    for (int i = 0; i < microbatches; ++i) {
      if (warmup + i < microbatches) ops.push_back(make_test_op(OpKind::Forward, rank, warmup + i));
      ops.push_back(make_test_op(OpKind::BackwardFull, rank, i));
    }
    program.ranks.push_back(std::move(ops));
  }
  return program;
}

inline std::vector<DeviceId> devices_in_order(int ranks) {
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back({rank});
  return devices;
}

/// Start as early as the edges allow: what the longest-path evaluator does, without its room.
inline Timeline run_unshared(const TaskGraph& graph) {
  Timeline timeline;
  timeline.intervals.resize(graph.tasks.size());
  for (const std::uint32_t task : graph.order) {
    Interval& interval = timeline.intervals[task];
    interval.end_s = interval.start_s + unshared_seconds(graph, graph.tasks[task]);
    for (auto [next, end] = boost::adjacent_vertices(task, graph.dependencies); next != end; ++next)
      timeline.intervals[*next].start_s =
          std::max(timeline.intervals[*next].start_s, interval.end_s);
  }
  return timeline;
}

/// A finished run and everything a RunView points to.
struct TestRun {
  Program program;
  Workload workload;
  Platform platform;
  TaskGraph graph;
  Timeline timeline;
  Summary summary;
  std::vector<std::string> warnings;
  std::string scenario = "a test";

  RunView view() const {
    return {scenario, "longest-path", "1f1b",      program,      workload,
            platform, graph,          graph.tasks, graph.routes, graph.device_of_rank,
            timeline, summary,        warnings};
  }
};

inline TestRun make_run(Program program, Workload workload, Platform platform) {
  TestRun run{std::move(program), std::move(workload), std::move(platform), {}, {}, {}, {}};
  run.graph = build_task_graph(run.program, run.workload, run.platform,
                               devices_in_order(run.program.shape.ranks))
                  .value();
  run.timeline = run_unshared(run.graph);
  run.summary = summarise(run.program, run.workload, run.platform, run.graph, run.timeline);
  return run;
}

/// Stage bytes of round numbers: 100 held, 30 of them until I, messages of 8 and 4.
inline Workload byte_workload(const Shape& shape, StageCost cost) {
  Workload workload = uniform_workload(shape, cost);
  for (StageBytes& bytes : workload.bytes) bytes = {{100}, {30}, {8}, {4}, {1000}, {2000}, {3000}};
  return workload;
}

}  // namespace pipecast::testing

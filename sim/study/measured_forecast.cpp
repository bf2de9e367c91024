#include "sim/study/measured_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/report/timeline_pieces.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kMostFaults = 5;

std::string shape_text(const Shape& shape) {
  return fmt::format("{} ranks, {} chunk{} per rank, {} microbatches", shape.ranks, shape.chunks,
                     shape.chunks == 1 ? "" : "s", shape.microbatches);
}

/// The compute operations of a rank in the order it executes them.
std::vector<Op> computed(const Program& program, std::size_t rank) {
  std::vector<Op> ops;
  for (const Op& op : program.ranks[rank])
    if (is_compute(op.kind))
      ops.push_back({.kind = op.kind, .stage = op.stage, .microbatch = op.microbatch});
  return ops;
}

bool before(const Op& a, const Op& b) {
  const auto key = [](const Op& op) {
    return std::tuple(op.kind, op.stage.value, op.microbatch.value);
  };
  return key(a) < key(b);
}

std::vector<Op> only_in_first(const std::vector<Op>& first, const std::vector<Op>& second) {
  std::vector<Op> only;
  std::set_difference(first.begin(), first.end(), second.begin(), second.end(),
                      std::back_inserter(only), before);
  return only;
}

}  // namespace

Result<FinishedRun> order_run(const MeasuredProfile& profile, const Workload& workload,
                              double delay_s, std::string name) {
  PreparedRun prepared{};
  prepared.scenario = std::move(name);
  prepared.schedule = profile.schedule.empty() ? "measured order" : profile.schedule;
  prepared.program = profile.program;
  prepared.workload = workload;
  prepared.platform = constant_delay_platform(profile.shape.ranks, {delay_s});
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < profile.shape.ranks; ++rank) devices.push_back({rank});
  Result<TaskGraph> graph =
      build_task_graph(prepared.program, prepared.workload, prepared.platform, devices);
  if (!graph) return fail(std::move(graph.error()));
  prepared.graph = std::move(*graph);
  return execute(std::move(prepared), Engine::LongestPath);
}

Diagnostics check_forecast(const Forecast& forecast, const Program& measured) {
  const Program& program = forecast.run.prepared.program;
  if (program.shape != measured.shape)
    return {input_error(fmt::format("the scenario's pipeline has {}; measured were {}",
                                    shape_text(program.shape), shape_text(measured.shape)),
                        "a forecast is held against a run of the same pipeline; --set "
                        "pipeline.microbatches=… changes the scenario",
                        forecast.where)};
  Diagnostics faults;
  for (std::size_t rank = 0; rank < measured.ranks.size(); ++rank) {
    std::vector<Op> ours = computed(program, rank), theirs = computed(measured, rank);
    std::sort(ours.begin(), ours.end(), before);
    std::sort(theirs.begin(), theirs.end(), before);
    const std::vector<Op> unmeasured = only_in_first(ours, theirs);
    const std::vector<Op> unforeseen = only_in_first(theirs, ours);
    if ((unmeasured.empty() && unforeseen.empty()) || faults.size() == kMostFaults) continue;
    const bool missing = !unmeasured.empty();
    faults.push_back(input_error(
        fmt::format(
            "{} computes {} on rank {}, which was not {}",
            missing ? fmt::format("the scenario's schedule '{}'", forecast.run.prepared.schedule)
                    : std::string("the measured run"),
            op_text(missing ? unmeasured.front() : unforeseen.front()), rank,
            missing ? "measured there" : "foreseen there"),
        "does the scenario split the backward and place the stages as the run does?",
        forecast.where));
  }
  return faults;
}

std::string order_difference(const Program& forecast, const Program& measured) {
  for (std::size_t rank = 0; rank < measured.ranks.size(); ++rank) {
    const std::vector<Op> ours = computed(forecast, rank), theirs = computed(measured, rank);
    const auto [our, their] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
    if (our == ours.end() || their == theirs.end()) continue;
    return fmt::format(
        "the scenario's order is another: as operation {} of rank {} it has {}, measured was {}",
        our - ours.begin() + 1, rank, op_text(*our), op_text(*their));
  }
  return {};
}

MeasuredStep step_of_run(const FinishedRun& run) {
  const PreparedRun& prepared = run.prepared;
  const RunIndex index = index_run(prepared.graph, run.timeline);
  MeasuredStep step{.name = prepared.scenario, .ranks = {}};
  for (int rank = 0; rank < prepared.program.shape.ranks; ++rank) {
    MeasuredRank& measured = step.ranks.emplace_back();
    measured.end_s = index.makespan_s;
    for (const Piece& piece : timeline_pieces(prepared.program, prepared.workload, prepared.graph,
                                              run.timeline, index, {rank})) {
      if (piece.idle || !is_compute(piece.op.kind)) continue;
      measured.ops.push_back({.kind = piece.op.kind,
                              .joined = piece.op.joined,
                              .stage = piece.op.stage,
                              .microbatch = piece.op.microbatch,
                              .begin_s = piece.start_s,
                              .end_s = piece.end_s});
    }
  }
  return step;
}

}  // namespace pipecast

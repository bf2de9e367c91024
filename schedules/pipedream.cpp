#include <algorithm>
#include <array>
#include <string>

#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

constexpr int kMaxSteps = 1024;

struct PipedreamParams {
  int steps = 4;
  int accumulate = 1;
};

using PipedreamField = Field<PipedreamParams>;
const std::array kFields{
    PipedreamField{"steps", &PipedreamParams::steps,
                   "training steps in a row, so that the steady state shows", 1, kMaxSteps},
    PipedreamField{"accumulate", &PipedreamParams::accumulate,
                   "microbatches whose gradients are added up for one weight update", 1,
                   kMaxMicrobatches}};

PipedreamParams params_of(const ScheduleRequest& request) {
  return pipecast::bind<PipedreamParams>(kFields, request.params);
}

/// 1F1B that never drains: microbatches are numbered on through all steps.
Program endless_1f1b(const Shape& step, int steps) {
  Shape shape = step;
  shape.microbatches *= steps;
  Program program = empty_program(shape, loop_placement(shape));
  program.steps = steps;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(rank)];
    ops.reserve(2 * static_cast<std::size_t>(shape.microbatches));
    const int warmup = std::min(shape.microbatches, shape.ranks - 1 - rank);
    for (int microbatch = 0; microbatch < warmup; ++microbatch)
      ops.push_back(forward(rank, microbatch));
    for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
      if (warmup + microbatch < shape.microbatches)
        ops.push_back(forward(rank, warmup + microbatch));
      ops.push_back(backward(rank, microbatch));
    }
  }
  return program;
}

Diagnostics check_pipedream(const ScheduleRequest& request) {
  const PipedreamParams params = params_of(request);
  const int microbatches = request.shape.microbatches;
  Diagnostics faults = require_one_chunk("pipedream", request.shape);
  const auto divides = [&](int candidate) { return microbatches % candidate == 0; };
  if (!divides(params.accumulate))
    faults.push_back(infeasible(
        "pipedream: updates after " + std::to_string(params.accumulate) +
            " microbatches do not divide the " + std::to_string(microbatches) + " of a step",
        "set accumulate to " + nearest_valid(params.accumulate, 1, microbatches, divides)));
  for (Diagnostic& fault : require_units("pipedream", request.shape, params.steps))
    faults.push_back(std::move(fault));
  return faults;
}

Result<Program> generate_pipedream(const ScheduleRequest& request) {
  const PipedreamParams params = params_of(request);
  Program program = endless_1f1b(request.shape, params.steps);
  program.updates = program.shape.microbatches / params.accumulate;
  program.weights = WeightRule::Newest;
  return program;
}

struct TwoVersionParams {
  int steps = 4;
};

using TwoVersionField = Field<TwoVersionParams>;
const std::array kTwoVersionFields{
    TwoVersionField{"steps", &TwoVersionParams::steps,
                    "training steps in a row, so that the steady state shows", 1, kMaxSteps}};

int steps_of(const ScheduleRequest& request) {
  return pipecast::bind<TwoVersionParams>(kTwoVersionFields, request.params).steps;
}

Diagnostics check_2bw(const ScheduleRequest& request) {
  const Shape& shape = request.shape;
  Diagnostics faults = require_one_chunk("pipedream-2bw", shape);
  if (shape.microbatches < shape.ranks)
    faults.push_back(infeasible(
        "pipedream-2bw needs at least one microbatch per rank to get by with two versions of the "
        "weights, there are " +
            std::to_string(shape.microbatches) + " for " + std::to_string(shape.ranks) + " ranks",
        "set microbatches to " + std::to_string(shape.ranks) + " or more"));
  for (Diagnostic& fault : require_units("pipedream-2bw", shape, steps_of(request)))
    faults.push_back(std::move(fault));
  return faults;
}

Result<Program> generate_2bw(const ScheduleRequest& request) {
  Program program = endless_1f1b(request.shape, steps_of(request));
  program.updates = program.steps;
  program.weights = WeightRule::OneBatchBehind;
  return program;
}

}  // namespace

ScheduleInfo pipedream() {
  return {.name = "pipedream",
          .summary =
              "asynchronous 1F1B: no flush, weights updated all along, rank r stashes P − r "
              "versions and trains P − 1 − r updates behind",
          .provenance = "Narayanan et al. 2019 (PipeDream), weight stashing",
          .backward = BackwardKind::Full,
          .asynchronous = true,
          .default_chunks = 1,
          .fields = describe<PipedreamParams>(kFields),
          .check = check_pipedream,
          .generate = generate_pipedream};
}

ScheduleInfo pipedream_2bw() {
  return {.name = "pipedream-2bw",
          .summary =
              "1F1B without a flush between steps: two versions of the weights, gradients one "
              "update behind",
          .provenance = "Narayanan et al. 2021 (PipeDream-2BW), double-buffered weights",
          .backward = BackwardKind::Full,
          .asynchronous = true,
          .default_chunks = 1,
          .fields = describe<TwoVersionParams>(kTwoVersionFields),
          .check = check_2bw,
          .generate = generate_2bw};
}

}  // namespace pipecast

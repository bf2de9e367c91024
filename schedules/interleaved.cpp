#include <array>

#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"
#include "schedules/looped_order.hpp"

namespace pipecast {

Diagnostics require_whole_rounds(std::string_view schedule, const Shape& shape) {
  const auto whole = [&](int microbatches) {
    return microbatches % std::max(1, microbatches / shape.ranks) == 0;
  };
  if (whole(shape.microbatches)) return {};
  return {infeasible(
      std::string(schedule) + " runs microbatches in m div P = " +
          std::to_string(shape.microbatches / shape.ranks) + " equal rounds, " +
          std::to_string(shape.microbatches) + " microbatches do not divide into them",
      "set microbatches to " + nearest_valid(shape.microbatches, 1, kMaxMicrobatches, whole))};
}

namespace {

struct InterleavedParams {
  int group = 0;
};

using InterleavedField = Field<InterleavedParams>;
const std::array kFields{InterleavedField{
    "group", &InterleavedParams::group,
    "microbatches a rank runs through one chunk before the next (Megatron's "
    "microbatch_group_size_per_vp_stage); 0: P, or m div max(1, m div P) when P does not divide m",
    0, kMaxMicrobatches}};

int chosen_group(const ScheduleRequest& request) {
  return pipecast::bind<InterleavedParams>(kFields, request.params).group;
}

/// Megatron's rules for an explicit group: P ≤ group ≤ m, and the last group is whole or at least
/// P long.
Diagnostics check_group(std::string_view schedule, const Shape& shape, int group) {
  const int ranks = shape.ranks;
  const int microbatches = shape.microbatches;
  const std::string name(schedule);
  if (microbatches < ranks)
    return {infeasible(
        name + " with a group needs at least one microbatch per rank, there are " +
            std::to_string(microbatches) + " microbatches for " + std::to_string(ranks) + " ranks",
        "set microbatches to " + std::to_string(ranks) + " or more, or leave group out")};
  const auto valid = [&](int candidate) {
    const int rest = microbatches % candidate;
    return rest == 0 || rest >= ranks;
  };
  const std::string hint = "set group to " + nearest_valid(group, ranks, microbatches, valid);
  if (group < ranks || group > microbatches)
    return {infeasible(name + ": group is " + std::to_string(group) + ", allowed is " +
                           std::to_string(ranks) + " (ranks) to " + std::to_string(microbatches) +
                           " (microbatches)",
                       hint)};
  if (valid(group)) return {};
  return {infeasible(name + ": groups of " + std::to_string(group) + " leave a last group of " +
                         std::to_string(microbatches % group) + " microbatches, fewer than the " +
                         std::to_string(ranks) + " ranks",
                     hint)};
}

Diagnostics check_rounds(std::string_view schedule, const ScheduleRequest& request) {
  const int group = chosen_group(request);
  return group == 0 ? require_whole_rounds(schedule, request.shape)
                    : check_group(schedule, request.shape, group);
}

LoopedOrder order_of(const ScheduleRequest& request) {
  const int group = chosen_group(request);
  return {request.shape, group == 0 ? round_size(request.shape) : group};
}

Diagnostics check_interleaved(const ScheduleRequest& request) {
  return check_rounds("interleaved-1f1b", request);
}

/// (v−1)·group + 2(P−1−r) warm-up forwards, then forward/backward pairs, then backwards.
Result<Program> generate_interleaved(const ScheduleRequest& request) {
  const LoopedOrder order = order_of(request);
  const int visits = order.visits();
  Program program = empty_program(request.shape, loop_placement(request.shape));
  for (int rank = 0; rank < request.shape.ranks; ++rank) {
    std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(rank)];
    ops.reserve(2 * static_cast<std::size_t>(visits));
    const int warmup = std::min(
        visits, (request.shape.chunks - 1) * order.group + 2 * (request.shape.ranks - 1 - rank));
    for (int index = 0; index < warmup; ++index) ops.push_back(order.forward_op(rank, index));
    for (int index = 0; index < visits; ++index) {
      if (warmup + index < visits) ops.push_back(order.forward_op(rank, warmup + index));
      ops.push_back(order.backward_op(OpKind::BackwardFull, rank, index));
    }
  }
  return program;
}

}  // namespace

ScheduleInfo interleaved_1f1b() {
  return {.name = "interleaved-1f1b",
          .summary =
              "1F1B over v chunks per rank: the bubble shrinks to 1/v, more transfers and "
              "more activations",
          .provenance =
              "Narayanan et al. 2021; order of Megatron-Core and PyTorch's ScheduleInterleaved1F1B",
          .backward = BackwardKind::Full,
          .default_chunks = 2,
          .fields = describe<InterleavedParams>(kFields),
          .check = check_interleaved,
          .generate = generate_interleaved};
}

}  // namespace pipecast

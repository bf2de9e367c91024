#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

struct GroupParams {
  int group = 0;
};

using GroupField = Field<GroupParams>;
const std::array kFields{GroupField{"group", &GroupParams::group,
                                    "microbatches a rank runs through one chunk before the next; "
                                    "below P trades bubble for memory; 0: P",
                                    0, kMaxRanks}};

int chosen_group(const ScheduleRequest& request) {
  const int group = pipecast::bind<GroupParams>(kFields, request.params).group;
  return group == 0 ? request.shape.ranks : group;
}

Diagnostics check_group_interleaved(const ScheduleRequest& request) {
  const int group = chosen_group(request);
  if (group <= request.shape.ranks) return {};
  return {infeasible("group-interleaved: group is " + std::to_string(group) +
                         ", allowed is 1 to the number of ranks, " +
                         std::to_string(request.shape.ranks),
                     "set group to " + std::to_string(request.shape.ranks))};
}

/// The building block of one group of microbatches as time slots of unit operations. Each chunk of
/// a group takes 3·group slots, a forward and an adjacent input and weight gradient per microbatch.
/// Forwards reach the next rank after one slot, gradients after two. A chunk follows its
/// predecessor after the smallest multiple of the group's slots that covers half of the ranks; when
/// such multiples would meet in the same slots (common divisor with the chunks), every full cycle
/// moves on by one group.
class BuildingBlock {
 public:
  BuildingBlock(const Shape& shape, int group)
      : shape_(shape), group_(group), groups_apart_(((shape.ranks + 1) / 2 + group - 1) / group) {
    cycle_ = shape.chunks / std::gcd(shape.chunks, groups_apart_);
  }

  int forward_slot(int rank, int chunk, int microbatch) const {
    return start(chunk, microbatch) + rank;
  }
  /// `turn` counts chunks from the last one.
  int input_slot(int rank, int turn, int microbatch) const {
    const int to_the_end = shape_.ranks - 1 - rank;
    return forward_slot(rank, shape_.chunks - 1, 0) + 3 * to_the_end + 1 + start(turn, microbatch);
  }

 private:
  int start(int chunk, int microbatch) const {
    const int block = microbatch / group_;
    return 3 * group_ * (groups_apart_ * chunk + chunk / cycle_ + shape_.chunks * block) +
           3 * (microbatch % group_);
  }

  Shape shape_;
  int group_;
  int groups_apart_;
  int cycle_;
};

/// The building block repeated for every group; the order of a rank is the order of its slots.
Result<Program> generate_group_interleaved(const ScheduleRequest& request) {
  const Shape& shape = request.shape;
  const BuildingBlock block(shape, chosen_group(request));
  Program program = empty_program(shape, loop_placement(shape));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::vector<SlottedOp> slots;
    slots.reserve(3 * static_cast<std::size_t>(shape.chunks * shape.microbatches));
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      const int stage = chunk * shape.ranks + rank;
      for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
        const int input = block.input_slot(rank, shape.chunks - 1 - chunk, microbatch);
        slots.push_back({block.forward_slot(rank, chunk, microbatch), forward(stage, microbatch)});
        slots.push_back({input, backward_input(stage, microbatch)});
        slots.push_back({input + 1, backward_weight(stage, microbatch)});
      }
    }
    program.ranks[static_cast<std::size_t>(rank)] = in_slot_order(std::move(slots));
  }
  return program;
}

}  // namespace

ScheduleInfo group_interleaved() {
  return {.name = "group-interleaved",
          .summary =
              "interleaved 1F1B in groups of any size up to P; smaller groups hold fewer "
              "activations and idle more",
          .provenance = "sail-sg zero-bubble, group_interleaved_1f1b",
          .backward = BackwardKind::Split,
          .default_chunks = 2,
          .fields = describe<GroupParams>(kFields),
          .check = check_group_interleaved,
          .generate = generate_group_interleaved};
}

}  // namespace pipecast

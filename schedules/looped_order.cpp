#include "schedules/looped_order.hpp"

#include <array>
#include <string>

namespace pipecast {
namespace {

struct GroupParams {
  int group = 0;
};

using GroupField = Field<GroupParams>;
const std::array kFields{GroupField{
    "group", &GroupParams::group,
    "microbatches a rank runs through one chunk before the next (Megatron's "
    "microbatch_group_size_per_vp_stage); 0: P, or m div max(1, m div P) when P does not divide m",
    0, kMaxMicrobatches}};

int chosen_group(const ScheduleRequest& request) {
  return pipecast::bind<GroupParams>(kFields, request.params).group;
}

Diagnostics check_group(const std::string& schedule, const Shape& shape, int group) {
  const int ranks = shape.ranks;
  const int microbatches = shape.microbatches;
  if (microbatches < ranks)
    return {infeasible(
        schedule + " with a group needs at least one microbatch per rank, there are " +
            std::to_string(microbatches) + " microbatches for " + std::to_string(ranks) + " ranks",
        "set microbatches to " + std::to_string(ranks) + " or more, or leave group out")};
  const auto valid = [&](int candidate) {
    const int rest = microbatches % candidate;
    return rest == 0 || rest >= ranks;
  };
  const std::string hint = "set group to " + nearest_valid(group, ranks, microbatches, valid);
  if (group < ranks || group > microbatches)
    return {infeasible(schedule + ": group is " + std::to_string(group) + ", allowed is " +
                           std::to_string(ranks) + " (ranks) to " + std::to_string(microbatches) +
                           " (microbatches)",
                       hint)};
  if (valid(group)) return {};
  return {infeasible(schedule + ": groups of " + std::to_string(group) + " leave a last group of " +
                         std::to_string(microbatches % group) + " microbatches, fewer than the " +
                         std::to_string(ranks) + " ranks",
                     hint)};
}

int round_size(const Shape& shape) {
  return shape.microbatches / std::max(1, shape.microbatches / shape.ranks);
}

}  // namespace

std::vector<FieldInfo> group_fields() { return describe<GroupParams>(kFields); }

LoopedOrder rounds_order(const Shape& shape) { return {shape, round_size(shape)}; }

LoopedOrder grouped_order(const ScheduleRequest& request) {
  const int group = chosen_group(request);
  return group == 0 ? rounds_order(request.shape) : LoopedOrder{request.shape, group};
}

Diagnostics check_groups(std::string_view schedule, const ScheduleRequest& request) {
  const int group = chosen_group(request);
  return group == 0 ? require_whole_rounds(schedule, request.shape)
                    : check_group(std::string(schedule), request.shape, group);
}

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

}  // namespace pipecast

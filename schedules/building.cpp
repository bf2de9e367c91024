#include "schedules/building.hpp"

#include <string>

namespace pipecast {

Program empty_program(const Shape& shape, Placement placement) {
  Program program;
  program.shape = shape;
  program.placement = std::move(placement);
  program.ranks.resize(static_cast<std::size_t>(shape.ranks));
  return program;
}

std::vector<Op> in_slot_order(std::vector<SlottedOp> slots) {
  std::stable_sort(slots.begin(), slots.end(), [](const SlottedOp& left, const SlottedOp& right) {
    return left.slot < right.slot;
  });
  std::vector<Op> ops;
  ops.reserve(slots.size());
  for (const SlottedOp& slotted : slots) ops.push_back(slotted.op);
  return ops;
}

Diagnostics require_one_chunk(std::string_view schedule, const Shape& shape) {
  if (shape.chunks == 1) return {};
  return {infeasible(
      std::string(schedule) + " places one chunk on a rank, chunks is " +
          std::to_string(shape.chunks),
      "set chunks to 1, or take a schedule with several chunks such as interleaved-1f1b")};
}

Diagnostics require_chunks(std::string_view schedule, const Shape& shape, int chunks,
                           std::string_view why) {
  if (shape.chunks == chunks) return {};
  return {infeasible(std::string(schedule) + " places " + std::to_string(chunks) +
                         " chunks on a rank (" + std::string(why) + "), chunks is " +
                         std::to_string(shape.chunks),
                     "set chunks to " + std::to_string(chunks))};
}

Diagnostics require_units(std::string_view schedule, const Shape& shape, int per_microbatch) {
  const std::int64_t units = std::int64_t{shape.microbatches} * per_microbatch;
  const std::int64_t ops = units * shape.ranks * shape.chunks;
  if (units <= kMaxMicrobatches && ops <= kMaxOps) return {};
  return {infeasible(std::string(schedule) + " makes " + std::to_string(units) + " units of " +
                         std::to_string(shape.microbatches) + " microbatches, allowed are " +
                         std::to_string(kMaxMicrobatches) + " and " + std::to_string(kMaxOps) +
                         " over all ranks",
                     "take fewer microbatches")};
}

std::string nearest_multiples(int value, int step) {
  const int below = value / step * step;
  if (below == value) return std::to_string(value);
  const std::string above = std::to_string(below + step);
  return below == 0 ? above : std::to_string(below) + " or " + above;
}

}  // namespace pipecast

#include "sim/model/inferred_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace pipecast {
namespace {

constexpr std::int32_t kNowhere = -1;
constexpr std::size_t kMaxDirections = 255;

using Ranks = std::vector<std::int32_t>;  ///< [stage], kNowhere where it is not known

template <class Visit>
void for_each_compute(const std::vector<std::vector<Op>>& ranks, Visit visit) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (const Op& op : ranks[rank])
      if (is_compute(op.kind)) visit(static_cast<std::int32_t>(rank), op);
}

/// The extremes of the compute operations and where they stand.
struct Extremes {
  std::int32_t stage = -1;
  std::int32_t microbatch = -1;
  std::int64_t forwards = 0;
  Violation at_stage;
  Violation at_microbatch;
};

Extremes find_extremes(const std::vector<std::vector<Op>>& ranks) {
  Extremes found;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (std::size_t i = 0; i < ranks[rank].size(); ++i) {
      const Op& op = ranks[rank][i];
      if (!is_compute(op.kind)) continue;
      const Violation here{{}, {static_cast<std::int32_t>(rank)}, static_cast<std::int32_t>(i)};
      if (op.stage.value > found.stage) found.at_stage = here;
      if (op.microbatch.value > found.microbatch) found.at_microbatch = here;
      found.stage = std::max(found.stage, op.stage.value);
      found.microbatch = std::max(found.microbatch, op.microbatch.value);
      found.forwards += is_forward(op.kind) ? 1 : 0;
    }
  return found;
}

tl::unexpected<Violation> because(Violation place, std::string message) {
  place.message = std::move(message);
  return tl::unexpected(std::move(place));
}

tl::expected<Shape, Violation> infer_shape(const std::vector<std::vector<Op>>& ranks) {
  const Extremes found = find_extremes(ranks);
  if (found.stage < 0) return because({}, "the file computes nothing");
  const std::int64_t stages = std::int64_t{found.stage} + 1;
  const std::int64_t microbatches = std::int64_t{found.microbatch} + 1;
  const auto lines = static_cast<std::int64_t>(ranks.size());
  // A cell that names a far stage or microbatch must not cost memory for all those before it.
  const std::int64_t plausible = 16 * found.forwards + 1000;
  if (stages > plausible || microbatches > plausible || stages * microbatches > plausible)
    return because(microbatches > stages ? found.at_microbatch : found.at_stage,
                   fmt::format("the cells name {} stages and {} microbatches, that takes {} "
                               "forwards; the file has {}",
                               stages, microbatches, stages * microbatches, found.forwards));
  if (stages % lines != 0)
    return because(
        found.at_stage,
        fmt::format("the highest stage is {}, which makes {} stages; the file has {} lines; a "
                    "line is a rank, and every rank needs the same number of stages",
                    found.stage, stages, lines));
  if (stages / lines > kMaxChunks || microbatches > kMaxMicrobatches || lines > kMaxRanks)
    return because(
        stages / lines > kMaxChunks ? found.at_stage : found.at_microbatch,
        fmt::format("{} ranks, {} stages and {} microbatches; allowed are {} ranks, {} "
                    "stages per rank and {} microbatches",
                    lines, stages, microbatches, kMaxRanks, kMaxChunks, kMaxMicrobatches));
  return Shape{static_cast<int>(lines), static_cast<int>(stages / lines),
               static_cast<int>(microbatches)};
}

/// The first rank that holds each stage, and whether any stage has a second one.
struct Homes {
  Ranks first;
  bool several = false;
};

Homes find_homes(const std::vector<std::vector<Op>>& ranks, int stages) {
  Homes homes;
  homes.first.assign(static_cast<std::size_t>(stages), kNowhere);
  for_each_compute(ranks, [&](std::int32_t rank, const Op& op) {
    std::int32_t& home = homes.first[op.stage.at()];
    if (home == kNowhere) home = rank;
    homes.several |= home != rank;
  });
  return homes;
}

/// [microbatch] → its ranks: where its forward stands, else where its backward stands.
std::vector<Ranks> ranks_of_microbatches(const std::vector<std::vector<Op>>& ranks,
                                         const Shape& shape) {
  std::vector<Ranks> table(static_cast<std::size_t>(shape.microbatches),
                           Ranks(static_cast<std::size_t>(shape.stages()), kNowhere));
  const auto fill = [&](bool forward) {
    for_each_compute(ranks, [&](std::int32_t rank, const Op& op) {
      std::int32_t& entry = table[op.microbatch.at()][op.stage.at()];
      if (is_forward(op.kind) == forward && entry == kNowhere) entry = rank;
    });
  };
  fill(true);
  fill(false);
  return table;
}

bool compatible(const Ranks& partial, const Ranks& whole) {
  for (std::size_t stage = 0; stage < partial.size(); ++stage)
    if (partial[stage] != kNowhere && partial[stage] != whole[stage]) return false;
  return true;
}

/// Completes a microbatch that lacks operations, so that what it lacks can be reported: like the
/// first complete microbatch it does not contradict, else with the first rank of each stage.
void complete(Ranks& partial, const std::vector<Ranks>& complete_ones, const Homes& homes) {
  for (const Ranks& whole : complete_ones)
    if (compatible(partial, whole)) {
      partial = whole;
      return;
    }
  for (std::size_t stage = 0; stage < partial.size(); ++stage)
    if (partial[stage] == kNowhere) partial[stage] = homes.first[stage];
}

tl::expected<Placement, Violation> directed(const std::vector<std::vector<Op>>& ranks,
                                            const Shape& shape, const Homes& homes) {
  std::vector<Ranks> table = ranks_of_microbatches(ranks, shape);
  const auto is_complete = [](const Ranks& row) {
    return std::find(row.begin(), row.end(), kNowhere) == row.end();
  };
  std::vector<Ranks> ways;  // distinct, of complete microbatches
  for (const Ranks& row : table) {
    if (ways.size() > kMaxDirections) break;
    if (is_complete(row) && std::find(ways.begin(), ways.end(), row) == ways.end())
      ways.push_back(row);
  }
  std::map<Ranks, std::size_t> number_of;
  Placement placement;
  placement.stages = shape.stages();
  for (Ranks& row : table) {
    if (!is_complete(row)) complete(row, ways, homes);
    const auto [way, is_new] = number_of.try_emplace(row, number_of.size());
    if (number_of.size() > kMaxDirections)
      return because(
          {}, fmt::format("the microbatches take more than {} different ways through the ranks",
                          kMaxDirections));
    if (is_new)
      for (const std::int32_t rank : row) placement.rank_of.push_back({rank});
    placement.direction_of.push_back(static_cast<std::uint8_t>(way->second));
  }
  if (number_of.size() == 1) placement.direction_of.clear();
  return placement;
}

}  // namespace

tl::expected<Program, Violation> with_inferred_placement(std::vector<std::vector<Op>> ranks) {
  const auto shape = infer_shape(ranks);
  if (!shape) return tl::unexpected(shape.error());
  Program program;
  program.shape = *shape;
  const Homes homes = find_homes(ranks, shape->stages());
  const auto missing = std::find(homes.first.begin(), homes.first.end(), kNowhere);
  if (missing != homes.first.end())
    return because({}, fmt::format("no line computes stage {}, the last stage is {}",
                                   missing - homes.first.begin(), shape->stages() - 1));
  if (homes.several) {
    auto placement = directed(ranks, *shape, homes);
    if (!placement) return tl::unexpected(placement.error());
    program.placement = std::move(*placement);
  } else {
    program.placement.stages = shape->stages();
    for (const std::int32_t rank : homes.first) program.placement.rank_of.push_back({rank});
  }
  program.ranks = std::move(ranks);
  return program;
}

}  // namespace pipecast

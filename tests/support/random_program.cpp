#include "tests/support/random_program.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace pipecast::testing {
namespace {

enum class Backward : std::uint8_t { None, Whole, Split, Mixed };

void shuffle(Random& random, std::vector<Rank>& ranks) {
  for (std::size_t last = ranks.size(); last > 1; --last)
    std::swap(ranks[last - 1],
              ranks[static_cast<std::size_t>(random.below(static_cast<int>(last)))]);
}

Placement random_placement(Random& random, const Shape& shape) {
  Placement placement = random.chance(0.5) ? loop_placement(shape) : zigzag_placement(shape);
  if (random.chance(0.3)) shuffle(random, placement.rank_of);
  if (random.chance(0.2)) {
    for (int stage = 0; stage < placement.stages; ++stage) {
      const Rank rank = placement.rank_of[static_cast<std::size_t>(stage)];
      placement.rank_of.push_back({shape.ranks - 1 - rank.value});
    }
    for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch)
      placement.direction_of.push_back(random.chance(0.5) ? 1 : 0);
  }
  return placement;
}

/// Issues operations one by one; an operation is ready when what it needs has been issued.
class Issuer {
 public:
  Issuer(Random& random, Program& program, Backward backward)
      : random_(random), program_(program), backward_(backward), ready_(program.ranks.size()) {
    for (int microbatch = 0; microbatch < program.shape.microbatches; ++microbatch)
      make_ready(OpKind::Forward, 0, microbatch);
    overlap_chance_ = random.chance(0.3) ? 0.5 : 0.0;
  }

  void issue_everything() {
    while (waiting_ > 0) {
      std::vector<Op>& ready = random_.pick(ready_);
      if (ready.empty()) continue;
      const std::size_t rank = static_cast<std::size_t>(&ready - ready_.data());
      Op op = take(rank, pick(ready));
      const std::size_t partner = random_.chance(overlap_chance_) ? partner_of(op, ready) : kNone;
      if (partner == kNone) {
        issue(rank, op);
        continue;
      }
      Op second = take(rank, partner);
      if (!is_forward(op.kind)) std::swap(op, second);
      op.joined = true;
      issue(rank, op);
      issue(rank, second);
    }
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::size_t pick(const std::vector<Op>& ready) {
    return static_cast<std::size_t>(random_.below(static_cast<int>(ready.size())));
  }

  Op take(std::size_t rank, std::size_t position) {
    std::vector<Op>& ready = ready_[rank];
    const Op op = ready[position];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(position));
    --waiting_;
    return op;
  }

  /// A ready op that may share a cell with `op`: one is a forward, the other makes a gradient.
  std::size_t partner_of(const Op& op, const std::vector<Op>& ready) const {
    for (std::size_t position = 0; position < ready.size(); ++position) {
      const OpKind other = ready[position].kind;
      if ((is_forward(op.kind) && produces_input_gradient(other)) ||
          (produces_input_gradient(op.kind) && is_forward(other)))
        return position;
    }
    return kNone;
  }

  void make_ready(OpKind kind, int stage, int microbatch) {
    Op op;
    op.kind = kind;
    op.stage = {stage};
    op.microbatch = {microbatch};
    ready_[program_.placement.rank(op.stage, op.microbatch).at()].push_back(op);
    ++waiting_;
  }

  void make_backward_ready(int stage, int microbatch) {
    const bool split =
        backward_ == Backward::Split || (backward_ == Backward::Mixed && random_.chance(0.5));
    make_ready(split ? OpKind::BackwardInput : OpKind::BackwardFull, stage, microbatch);
  }

  void issue(std::size_t rank, const Op& op) {
    program_.ranks[rank].push_back(op);
    const int stage = op.stage.value;
    const int microbatch = op.microbatch.value;
    const bool last = stage + 1 == program_.placement.stages;
    if (is_forward(op.kind) && !last) make_ready(OpKind::Forward, stage + 1, microbatch);
    if (is_forward(op.kind) && last && backward_ != Backward::None)
      make_backward_ready(stage, microbatch);
    if (produces_input_gradient(op.kind) && stage > 0) make_backward_ready(stage - 1, microbatch);
    if (op.kind == OpKind::BackwardInput) make_ready(OpKind::BackwardWeight, stage, microbatch);
  }

  Random& random_;
  Program& program_;
  Backward backward_;
  std::vector<std::vector<Op>> ready_;  ///< [rank]
  std::size_t waiting_ = 0;             ///< ready ops of all ranks
  double overlap_chance_ = 0;
};

double seconds(Random& random) { return random.chance(0.1) ? 0 : random.magnitude(1e-6, 1e-1); }
double size(Random& random) { return random.chance(0.1) ? 0 : random.magnitude(1, 1e9); }

OverlapCost random_overlap(Random& random) {
  OverlapCost overlap;
  switch (random.below(3)) {
    case 0:
      break;
    case 1:
      overlap.rule = OverlapCost::Rule::Ratio;
      overlap.value = 0.5 + 0.5 * random.unit();
      break;
    default:
      overlap.rule = OverlapCost::Rule::Given;
      overlap.value = random.magnitude(1e-5, 1e-2);
  }
  return overlap;
}

LinkId add_link(Random& random, Platform& platform, const std::string& name, Sharing sharing) {
  Link link;
  link.name = name;
  link.latency = {random.chance(0.2) ? 0 : random.magnitude(1e-7, 1e-4)};
  link.bandwidth = {random.magnitude(1e8, 1e12)};
  link.sharing = sharing;
  platform.links.push_back(link);
  return {static_cast<std::int32_t>(platform.links.size() - 1)};
}

}  // namespace

Program random_program(Random& random, const RandomLimits& limits) {
  Program program;
  program.shape = {random.between(1, limits.ranks), random.between(1, limits.chunks),
                   random.between(1, limits.microbatches)};
  program.placement = random_placement(random, program.shape);
  program.ranks.resize(static_cast<std::size_t>(program.shape.ranks));
  const auto backward =
      random.chance(0.1) ? Backward::None : static_cast<Backward>(random.between(1, 3));
  Issuer(random, program, backward).issue_everything();
  return program;
}

Workload random_workload(Random& random, const Program& program) {
  Workload workload;
  workload.stages = program.placement.stages;
  workload.microbatches = program.shape.microbatches / (program.cuts.count() * program.steps);
  const bool varies = random.chance(0.3);
  const int entries = workload.stages * (varies ? workload.microbatches : 1);
  for (int entry = 0; entry < entries; ++entry)
    workload.costs.push_back({{seconds(random)}, {seconds(random)}, {seconds(random)}});
  for (int stage = 0; stage < workload.stages; ++stage) {
    StageBytes bytes;
    bytes.held_by_forward = {size(random)};
    bytes.released_by_backward_input = bytes.held_by_forward * random.unit();
    bytes.message_forward = {size(random)};
    bytes.message_backward = {size(random)};
    workload.bytes.push_back(bytes);
  }
  if (random.chance(0.3)) workload.overheads.operation = {random.magnitude(1e-7, 1e-4)};
  if (random.chance(0.3)) workload.overheads.gap = {random.magnitude(1e-7, 1e-4)};
  if (random.chance(0.3)) workload.overheads.message = {random.magnitude(1e-7, 1e-4)};
  if (random.chance(0.3)) workload.first_stage_input_gradient = FirstStageInputGradient::Empty;
  workload.overlap = random_overlap(random);
  return workload;
}

Platform random_platform(Random& random, int devices, Sharing sharing) {
  Platform platform;
  platform.name = "random";
  const int per_node = random.between(1, devices);
  const bool card_per_node = random.chance(0.5);
  RoutingLevel inside{.name = "node", .group_of = {}, .climb = {}, .descend = {}};
  RoutingLevel between{.name = "spine", .group_of = {}, .climb = {}, .descend = {}};
  LinkId card_up;
  LinkId card_down;
  for (int device = 0; device < devices; ++device) {
    const std::string name = std::to_string(device);
    platform.devices.push_back({"device" + name, "", Bytes{}, 0.5 + random.unit()});
    if (!card_per_node || device % per_node == 0) {
      card_up = add_link(random, platform, "card up " + name, sharing);
      card_down = add_link(random, platform, "card down " + name, sharing);
    }
    const LinkId up = add_link(random, platform, "up " + name, sharing);
    const LinkId down = add_link(random, platform, "down " + name, sharing);
    inside.group_of.push_back(device / per_node);
    inside.climb.push_back({up});
    inside.descend.push_back({down});
    between.group_of.push_back(0);
    between.climb.push_back({up, card_up});
    between.descend.push_back({card_down, down});
  }
  const LinkId spine = add_link(random, platform, "spine", sharing);
  for (std::vector<LinkId>& links : between.climb) links.push_back(spine);
  platform.routing = LevelRouting{{inside, between}};
  return platform;
}

std::vector<DeviceId> in_order(const Program& program) {
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < program.shape.ranks; ++rank) devices.push_back({rank});
  return devices;
}

}  // namespace pipecast::testing

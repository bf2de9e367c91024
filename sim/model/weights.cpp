#include "sim/model/weights.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace pipecast {
namespace {

/// One stage copy as its rank's list goes by.
struct Copy {
  int updates = 0;           ///< versions made so far
  int gradients = 0;         ///< weight gradients since the last update
  std::map<int, int> users;  ///< version → microbatches between forward and weight gradient
  WeightUse use;
};

class WeightWalk {
 public:
  explicit WeightWalk(const Program& program)
      : program_(program),
        copies_(program.placement.rank_of.size()),
        group_size_(std::max(1, program.shape.microbatches / program.updates)),
        version_of_(copies_.size() * static_cast<std::size_t>(program.shape.microbatches), 0) {}

  void run() {
    for (const std::vector<Op>& ops : program_.ranks)
      for (const Op& op : ops) {
        if (is_forward(op.kind)) begin(op);
        if (op.kind == OpKind::BackwardFull || op.kind == OpKind::BackwardWeight) end(op);
      }
  }

  std::vector<WeightUse> uses() const {
    std::vector<WeightUse> result;
    for (const Copy& copy : copies_) result.push_back(copy.use);
    return result;
  }
  Diagnostics take_faults() { return std::move(faults_); }

 private:
  std::size_t copy_of(const Op& op) const {
    const Placement& placement = program_.placement;
    const std::size_t direction =
        placement.direction_of.empty() ? 0 : placement.direction_of[op.microbatch.at()];
    return direction * static_cast<std::size_t>(placement.stages) + op.stage.at();
  }
  int& version_of(std::size_t copy, const Op& op) {
    return version_of_[copy * static_cast<std::size_t>(program_.shape.microbatches) +
                       op.microbatch.at()];
  }

  int wanted(const Copy& copy, int group) const {
    switch (program_.weights) {
      case WeightRule::Flush:
        return group;
      case WeightRule::Newest:
        return copy.updates;
      case WeightRule::OneBatchBehind:
        return std::max(0, group - 1);
    }
    return 0;
  }

  void begin(const Op& op) {
    const std::size_t index = copy_of(op);
    Copy& copy = copies_[index];
    const int group = op.microbatch.value / group_size_;
    const int version = wanted(copy, group);
    if (version > copy.updates && faults_.size() < kMaxReported)
      faults_.push_back(infeasible(op_text(op) + " needs the weights after " +
                                   std::to_string(version) + " updates, its stage has seen " +
                                   std::to_string(copy.updates)));
    version_of(index, op) = version;
    ++copy.users[version];
    copy.use.staleness = std::max(copy.use.staleness, group - version);
    count_versions(copy);
  }

  void end(const Op& op) {
    const std::size_t index = copy_of(op);
    Copy& copy = copies_[index];
    const auto user = copy.users.find(version_of(index, op));
    if (user != copy.users.end() && --user->second == 0) copy.users.erase(user);
    if (++copy.gradients < group_size_) return;
    copy.gradients = 0;
    ++copy.updates;
    count_versions(copy);
  }

  void count_versions(Copy& copy) const {
    const int newest = copy.users.count(copy.updates) == 0 ? 1 : 0;
    copy.use.versions = std::max(copy.use.versions, static_cast<int>(copy.users.size()) + newest);
  }

  const Program& program_;
  std::vector<Copy> copies_;
  int group_size_;
  std::vector<int> version_of_;  ///< [copy · microbatches + microbatch]
  Diagnostics faults_;
};

/// Cuts of a microbatch attend to the cuts before them: forwards in order, backwards in reverse.
class CutOrder {
 public:
  explicit CutOrder(const Program& program)
      : cuts_(program.cuts.count()),
        microbatches_(static_cast<std::size_t>(program.shape.microbatches)),
        done_(static_cast<std::size_t>(program.placement.stages) * microbatches_, 0) {}

  Diagnostics run(const Program& program) {
    for (const std::vector<Op>& ops : program.ranks)
      for (const Op& op : ops) visit(op);
    return std::move(faults_);
  }

 private:
  std::uint8_t& done(const Op& op, int offset) {
    return done_[op.stage.at() * microbatches_ + op.microbatch.at() +
                 static_cast<std::size_t>(offset)];
  }
  void report(const Op& op, const char* what) {
    if (faults_.size() < kMaxReported)
      faults_.push_back(infeasible(op_text(op) + " stands before the " + what));
  }
  void visit(const Op& op) {
    const int cut = op.microbatch.value % cuts_;
    if (is_forward(op.kind)) {
      if (cut > 0 && done(op, -1) < 1) report(op, "forward of the cut before it");
      done(op, 0) = 1;
    } else if (produces_input_gradient(op.kind)) {
      if (cut + 1 < cuts_ && done(op, 1) < 2) report(op, "backward of the cut behind it");
      done(op, 0) = 2;
    }
  }

  int cuts_;
  std::size_t microbatches_;
  std::vector<std::uint8_t> done_;  ///< 1 after the forward, 2 after the input gradient
  Diagnostics faults_;
};

bool shares_add_up(const std::vector<double>& shares) {
  double sum = 0;
  for (const double share : shares) {
    if (!std::isfinite(share) || share <= 0) return false;
    sum += share;
  }
  return std::abs(sum - 1) <= 1e-9;
}

}  // namespace

std::vector<WeightUse> weight_use(const Program& program) {
  if (program.updates <= 1) return std::vector<WeightUse>(program.placement.rank_of.size());
  WeightWalk walk(program);
  walk.run();
  return walk.uses();
}

Diagnostics check_units(const Program& program) {
  const SequenceCuts& cuts = program.cuts;
  if (cuts.seconds.size() != cuts.bytes.size() ||
      (!cuts.seconds.empty() && (!shares_add_up(cuts.seconds) || !shares_add_up(cuts.bytes))))
    return {infeasible("the shares of the sequence cuts are not positive or do not add up to 1")};
  const int units = program.shape.microbatches;
  const int per_microbatch = cuts.count();
  if (program.steps < 1 || program.updates < 1 || units % (per_microbatch * program.steps) != 0 ||
      units / per_microbatch % program.updates != 0)
    return {infeasible(std::to_string(units) + " units do not divide into " +
                       std::to_string(program.steps) + " steps, " +
                       std::to_string(program.updates) + " updates and " +
                       std::to_string(per_microbatch) + " cuts")};
  return {};
}

Diagnostics check_weights(const Program& program) {
  Diagnostics faults;
  if (program.cuts.count() > 1) faults = CutOrder(program).run(program);
  if (program.updates <= 1) return faults;
  WeightWalk walk(program);
  walk.run();
  for (Diagnostic& fault : walk.take_faults()) faults.push_back(std::move(fault));
  return faults;
}

}  // namespace pipecast

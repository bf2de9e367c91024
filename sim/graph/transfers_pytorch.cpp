#include <algorithm>
#include <array>

#include "sim/graph/transfers.hpp"
#include "sim/graph/transfers_key.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kStagesAhead = 3;

/// The stages a rank computes next, nearest first: three distinct ones, or four when an overlapped
/// pair brings the third and the fourth at once.
class StagesAhead {
 public:
  /// Fills `ahead` from the last cell to the first: a cell's stages move to the front, and the
  /// first few of such a list do not depend on the rest.
  explicit StagesAhead(const std::vector<std::span<const Op>>& cells) : ahead_(cells.size()) {
    Nearest now;
    for (std::size_t cell = cells.size(); cell-- > 0;) {
      for (std::size_t i = cells[cell].size(); i-- > 0;) now.meet(cells[cell][i].stage.value, cell);
      ahead_[cell] = now;
    }
  }

  std::span<const int> at(std::size_t cell) const {
    const Nearest& near = ahead_[cell];
    std::size_t count = std::min(near.size, kStagesAhead);
    if (near.size > kStagesAhead && near.cell[kStagesAhead] == near.cell[kStagesAhead - 1]) ++count;
    return {near.stage.data(), count};
  }

 private:
  struct Nearest {
    std::array<int, kStagesAhead + 1> stage{};
    std::array<std::size_t, kStagesAhead + 1> cell{};  ///< where the stage is met next
    std::size_t size = 0;

    void meet(int met, std::size_t at) {
      std::size_t last = 0;
      while (last < size && stage[last] != met) ++last;
      if (last == size) size = std::min(size + 1, stage.size());
      last = std::min(last, stage.size() - 1);
      std::copy_backward(stage.begin(), stage.begin() + last, stage.begin() + last + 1);
      std::copy_backward(cell.begin(), cell.begin() + last, cell.begin() + last + 1);
      stage[0] = met;
      cell[0] = at;
    }
  };

  std::vector<Nearest> ahead_;
};

Op stage_op(OpKind kind, int stage) {
  Op op;
  op.kind = kind;
  op.stage = {stage};
  op.microbatch = {-1};
  return op;
}

bool holds(std::span<const int> stages, int stage) {
  return std::find(stages.begin(), stages.end(), stage) != stages.end();
}

/// Reshards what is not needed soon, then gathers what is missing, in order of need. Two stages
/// can only be dropped at once next to overlapped pairs over more than two chunks, which nobody
/// issues; they go in ascending order.
std::vector<Op> unshard_ahead(const std::vector<Op>& ops, PytorchVersion version) {
  std::vector<std::span<const Op>> cells;
  for_each_cell(ops, [&](std::span<const Op> cell) { cells.push_back(cell); });
  const StagesAhead ahead(cells);
  std::vector<Op> result;
  std::vector<int> gathered;
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    const std::span<const int> needed = ahead.at(cell);
    std::sort(gathered.begin(), gathered.end());
    std::erase_if(gathered, [&](int stage) {
      if (holds(needed, stage)) return false;
      result.push_back(stage_op(OpKind::Reshard, stage));
      return true;
    });
    for (const int stage : needed)
      if (!holds(gathered, stage)) {
        result.push_back(stage_op(OpKind::Unshard, stage));
        gathered.push_back(stage);
      }
    append_cell(result, cells[cell], Issue::Plain);
  }
  std::sort(gathered.begin(), gathered.end());
  if (version == PytorchVersion::Main)
    for (const int stage : gathered) result.push_back(stage_op(OpKind::Reshard, stage));
  return result;
}

/// The gradients of a stage are reduced right after its last weight gradient on the rank.
std::vector<Op> reduce_grads(const std::vector<Op>& ops, int stages) {
  const auto ends_weights = [](const Op& op) {
    return op.kind == OpKind::BackwardFull || op.kind == OpKind::BackwardWeight;
  };
  std::vector<int> left(static_cast<std::size_t>(stages), 0);
  for (const Op& op : ops)
    if (ends_weights(op)) ++left[op.stage.at()];
  std::vector<Op> result;
  for_each_cell(ops, [&](std::span<const Op> cell) {
    append_cell(result, cell, Issue::Plain);
    for (const Op& op : cell)
      if (ends_weights(op) && --left[op.stage.at()] == 0)
        result.push_back(stage_op(OpKind::ReduceGrad, op.stage.value));
  });
  return result;
}

}  // namespace

Result<Program> lower_pytorch(const Program& program, PytorchVersion version) {
  Program lowered = without_communication(program);
  for (std::vector<Op>& ops : lowered.ranks) {
    ops = unshard_ahead(ops, version);
    if (version == PytorchVersion::Main) ops = reduce_grads(ops, program.placement.stages);
  }
  return lower_pytorch_send_receive(lowered);
}

}  // namespace pipecast

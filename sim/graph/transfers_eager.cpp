#include "sim/graph/transfers_eager.hpp"

#include <algorithm>
#include <numeric>

namespace pipecast {
namespace {

class Runner {
 public:
  Runner(const Program& program, const EagerTimes& times)
      : program_(program),
        times_(times),
        position_(program.ranks.size(), 0),
        now_(program.ranks.size(), 0),
        made_(program, Made{}) {
    run_.starts.resize(program.ranks.size());
    run_.ends.resize(program.ranks.size());
  }

  EagerRun run() {
    work_.resize(program_.ranks.size());
    std::iota(work_.rbegin(), work_.rend(), std::size_t{0});
    while (!work_.empty()) {
      const std::size_t rank = work_.back();
      work_.pop_back();
      while (step(rank)) {
      }
    }
    run_.complete = true;
    for (std::size_t rank = 0; rank < program_.ranks.size(); ++rank) {
      run_.complete &= position_[rank] == program_.ranks[rank].size();
      list_messages(rank);
    }
    return std::move(run_);
  }

 private:
  /// When and where a result was made; nothing can use it before it is at hand.
  struct Made {
    std::int64_t moment = -1;
    std::size_t cell = 0;
  };

  std::int64_t length(std::span<const Op> cell) const {
    std::int64_t sum = 0;
    for (const Op& op : cell)
      sum += op.kind == OpKind::Forward         ? times_.forward
             : op.kind == OpKind::BackwardFull  ? times_.backward_full
             : op.kind == OpKind::BackwardInput ? times_.backward_input
                                                : times_.backward_weight;
    return sum;
  }

  bool step(std::size_t rank) {
    const std::vector<Op>& ops = program_.ranks[rank];
    const std::size_t at = position_[rank];
    if (at >= ops.size()) return false;
    const std::span<const Op> cell(ops.data() + at, cell_size(ops, at));
    std::int64_t start = now_[rank];
    for (const Op& op : cell) {
      const Handover need = input_of(op, program_.placement.stages);
      if (!need.exists || made_by(cell, need.key, program_.placement.stages)) continue;
      const std::int64_t moment = made_[need.key].moment;
      if (moment < 0) return false;
      start = std::max(start, moment + (crosses_ranks(program_, need.key) ? times_.message : 0));
    }
    position_[rank] += cell.size();
    now_[rank] = start + length(cell);
    for (const Op& op : cell) publish(rank, op);
    run_.starts[rank].push_back(start);
    run_.ends[rank].push_back(now_[rank]);
    return true;
  }

  void publish(std::size_t rank, const Op& op) {
    const Handover made = output_of(op, program_.placement.stages);
    if (!made.exists) return;
    made_[made.key] = {now_[rank], run_.starts[rank].size()};
    if (crosses_ranks(program_, made.key)) work_.push_back(receiver_of(program_, made.key));
  }

  void list_messages(std::size_t rank) {
    std::size_t index = 0;
    for_each_cell(program_.ranks[rank], [&](std::span<const Op> cell) {
      for (const Op& op : cell) {
        const Handover need = input_of(op, program_.placement.stages);
        if (!need.exists || !crosses_ranks(program_, need.key)) continue;
        const Made& made = made_[need.key];
        run_.messages.push_back(
            {need.key, made.moment, sender_of(program_, need.key), rank, made.cell, index});
      }
      ++index;
    });
  }

  const Program& program_;
  const EagerTimes& times_;
  std::vector<std::size_t> position_;
  std::vector<std::int64_t> now_;
  std::vector<std::size_t> work_;  // ranks that may have got an input
  PerTransfer<Made> made_;
  EagerRun run_;
};

}  // namespace

bool made_by(std::span<const Op> cell, const TransferKey& key, int stages) {
  return std::any_of(cell.begin(), cell.end(), [&](const Op& op) {
    const Handover made = output_of(op, stages);
    return made.exists && made.key == key;
  });
}

EagerRun eager_run(const Program& program, const EagerTimes& times) {
  return Runner(program, times).run();
}

}  // namespace pipecast

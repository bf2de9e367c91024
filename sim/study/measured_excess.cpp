#include "sim/study/measured_excess.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace pipecast {
namespace {

double ideal_of(const Workload& ideal, const MeasuredOp& op) {
  return duration(ideal, {.kind = op.kind, .stage = op.stage, .microbatch = op.microbatch}).value;
}

/// Walks back from the operation that ends last, each time to what the operation waited for.
class PathWalk {
 public:
  PathWalk(const MeasuredStep& step, const Workload& ideal, const MeasuredIndex& index)
      : step_(step), ideal_(ideal), index_(index) {}

  ExcessTime walk(double ideal_s) {
    auto [rank, at] = last_operation();
    const double last_end = step_.ranks[rank].ops[at].end_s;
    double step_end = 0;
    for (const MeasuredRank& one : step_.ranks) step_end = std::max(step_end, one.end_s);
    ExcessTime excess{.ideal_s = ideal_s, .gaps_s = step_end - last_end};
    double path_ideal_s = 0;
    while (true) {
      const std::vector<MeasuredOp>& ops = step_.ranks[rank].ops;
      double cell_ideal_s = ideal_of(ideal_, ops[at]);
      const double end_s = ops[at].end_s;
      for (; at > 0 && ops[at - 1].joined; --at) cell_ideal_s += ideal_of(ideal_, ops[at - 1]);
      excess.operations_s += end_s - ops[at].begin_s - cell_ideal_s;
      path_ideal_s += cell_ideal_s;
      const MeasuredLag lag = index_.lag(rank, at);
      if (lag.cause == MeasuredLag::Cause::Start) {
        excess.start_s += lag.seconds;
        break;
      }
      (lag.cause == MeasuredLag::Cause::Message ? excess.messages_s : excess.gaps_s) += lag.seconds;
      rank = lag.rank;
      at = lag.index;
    }
    excess.slack_s = ideal_s - path_ideal_s;
    if (std::abs(excess.slack_s) < 1e-9) excess.slack_s = 0;  // rounding
    return excess;
  }

 private:
  std::pair<std::size_t, std::size_t> last_operation() const {
    std::pair<std::size_t, std::size_t> last{0, 0};
    double last_end = -1;
    for (std::size_t rank = 0; rank < step_.ranks.size(); ++rank) {
      const std::vector<MeasuredOp>& ops = step_.ranks[rank].ops;
      if (ops.empty() || ops.back().end_s <= last_end) continue;
      last_end = ops.back().end_s;
      last = {rank, ops.size() - 1};
    }
    return last;
  }

  const MeasuredStep& step_;
  const Workload& ideal_;
  const MeasuredIndex& index_;
};

Percentiles percentiles(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size()));
    return values[std::min(place, values.size() - 1)];
  };
  return {static_cast<int>(values.size()), at(0.5), at(0.95), at(0.99)};
}

/// Goes through every cell once and sorts its time into parts.
class Sorter {
 public:
  Sorter(const MeasuredStep& step, const Workload& ideal, const MeasuredIndex& index)
      : step_(step), ideal_(ideal), index_(index), step_s_(step.seconds()) {}

  void sort(MeasuredExcess& excess) {
    for (std::size_t rank = 0; rank < step_.ranks.size(); ++rank) {
      RankExcess parts{.rank = {static_cast<int>(rank)}};
      for (std::size_t i = 0; i < step_.ranks[rank].ops.size(); ++i) sort_operation(rank, i, parts);
      parts.waiting_s =
          step_s_ - parts.ideal_s - parts.operations_s - parts.gaps_s - parts.messages_s;
      excess.ranks.push_back(parts);
    }
    for (auto& [kind, values] : overshoots_)
      excess.overshoots.push_back({kind, percentiles(std::move(values))});
    for (auto& [kinds, values] : gaps_)
      excess.gaps.push_back({kinds.first, kinds.second, percentiles(std::move(values))});
    excess.messages = percentiles(std::move(messages_));
  }

 private:
  void sort_operation(std::size_t rank, std::size_t i, RankExcess& parts) {
    const std::vector<MeasuredOp>& ops = step_.ranks[rank].ops;
    const double ideal_s = ideal_of(ideal_, ops[i]);
    parts.ideal_s += ideal_s;
    parts.operations_s += ops[i].seconds() - ideal_s;
    overshoots_[ops[i].kind].push_back(ops[i].seconds() - ideal_s);
    if (i > 0 && ops[i - 1].joined) return;
    const MeasuredLag lag = index_.lag(rank, i);
    if (lag.cause == MeasuredLag::Cause::SameRank) {
      parts.gaps_s += lag.seconds;
      gaps_[{ops[i - 1].kind, ops[i].kind}].push_back(lag.seconds);
    } else if (lag.cause == MeasuredLag::Cause::Message) {
      parts.messages_s += lag.seconds;
      messages_.push_back(lag.seconds);
    }
  }

  const MeasuredStep& step_;
  const Workload& ideal_;
  const MeasuredIndex& index_;
  double step_s_;
  std::map<OpKind, std::vector<double>> overshoots_;
  std::map<std::pair<OpKind, OpKind>, std::vector<double>> gaps_;
  std::vector<double> messages_;
};

}  // namespace

MeasuredExcess measured_excess(const MeasuredStep& step, const Workload& ideal, double ideal_s) {
  const MeasuredIndex index(step);
  MeasuredExcess excess;
  excess.path = PathWalk(step, ideal, index).walk(ideal_s);
  Sorter(step, ideal, index).sort(excess);
  return excess;
}

}  // namespace pipecast

#include "sim/report/idle.hpp"

#include <algorithm>
#include <limits>

#include "sim/graph/rounding.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

/// Places of a rank's first backward and last forward among its compute tasks.
struct Landmarks {
  std::size_t first_backward = kNever;
  std::size_t last_forward = kNever;
  bool backward = false;
};

class RankIdle {
 public:
  RankIdle(const Program& program, const TaskGraph& graph, const Timeline& timeline,
           const RunIndex& index, Rank rank)
      : program_(program),
        graph_(graph),
        timeline_(timeline),
        index_(index),
        tasks_(index.compute.of(rank)),
        noise_s_(rounding_s(index.makespan_s)) {
    find_landmarks();
  }

  std::vector<IdleStretch> run() {
    for (std::size_t place = 0; place < tasks_.size(); ++place) {
      const std::uint32_t task = tasks_[place];
      const Interval& interval = timeline_.intervals[task];
      if (is_work(graph_.tasks[task])) {
        wait(interval.start_s, phase_before(place), index_.last_message[task]);
      } else {
        wait(interval.start_s, phase_before(place), kNoTask);
        add(interval.end_s, phase_before(place), IdleCause::Gap, kNoTask);
      }
      now_ = std::max(now_, interval.end_s);
    }
    wait(index_.makespan_s, phase_before(tasks_.size()), kNoTask);
    return std::move(stretches_);
  }

 private:
  void find_landmarks() {
    for (std::size_t place = 0; place < tasks_.size(); ++place) {
      const Task& task = graph_.tasks[tasks_[place]];
      if (!is_work(task)) continue;
      const auto& ops = program_.ranks[static_cast<std::size_t>(task.rank)];
      for (std::size_t i = 0; i < task.cell_ops; ++i) {
        const OpKind kind = ops[static_cast<std::size_t>(task.position) + i].kind;
        if (is_forward(kind)) marks_.last_forward = place;
        if (!is_forward(kind) && !marks_.backward) marks_.first_backward = place;
        marks_.backward |= !is_forward(kind);
      }
    }
    if (!marks_.backward) marks_.first_backward = 0;
  }

  /// Before the first backward wins over after the last forward: GPipe's pause between the two is
  /// warm-up.
  Phase phase_before(std::size_t place) const {
    if (place <= marks_.first_backward && place < tasks_.size()) return Phase::WarmUp;
    if (tasks_.empty()) return Phase::WarmUp;
    return marks_.last_forward == kNever || place > marks_.last_forward ? Phase::CoolDown
                                                                        : Phase::Steady;
  }

  void wait(double until_s, Phase phase, std::int32_t message) {
    if (message != kNoTask) {
      const Interval& way = timeline_.intervals[static_cast<std::size_t>(message)];
      add(std::min(way.start_s, until_s), phase, IdleCause::Dependency, kNoTask);
      add(std::min(way.end_s, until_s), phase, IdleCause::Transfer, message);
    }
    add(until_s, phase, IdleCause::Dependency, kNoTask);
  }

  void add(double until_s, Phase phase, IdleCause cause, std::int32_t message) {
    if (until_s - now_ <= noise_s_) return;
    stretches_.push_back({now_, until_s, phase, cause, message});
    now_ = until_s;
  }

  const Program& program_;
  const TaskGraph& graph_;
  const Timeline& timeline_;
  const RunIndex& index_;
  std::span<const std::uint32_t> tasks_;
  double noise_s_;
  Landmarks marks_;
  double now_ = 0;
  std::vector<IdleStretch> stretches_;
};

}  // namespace

std::vector<IdleStretch> idle_stretches(const Program& program, const TaskGraph& graph,
                                        const Timeline& timeline, const RunIndex& index,
                                        Rank rank) {
  return RankIdle(program, graph, timeline, index, rank).run();
}

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::WarmUp:
      return "warm-up";
    case Phase::Steady:
      return "steady";
    case Phase::CoolDown:
      return "cool-down";
  }
  return "?";
}

}  // namespace pipecast

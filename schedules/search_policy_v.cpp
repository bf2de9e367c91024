#include "schedules/search_policy_v.hpp"

#include <algorithm>
#include <array>

#include "schedules/search_builder.hpp"

namespace pipecast::search {
namespace {

constexpr Symbol kF0 = 0;
constexpr Symbol kF1 = 1;
constexpr Symbol kI0 = 2;
constexpr Symbol kI1 = 3;

/// One run of the greedy.
class VFollower {
 public:
  VFollower(const Problem& problem, const VPolicy& policy)
      : problem_(problem), policy_(policy), builder_(problem) {
    if (!policy.tolerated.empty())
      most_tolerated_ = *std::max_element(policy.tolerated.begin(), policy.tolerated.end());
  }

  std::optional<Built> run() {
    if (!down_and_up()) return std::nullopt;
    fill_up();
    const int rounds = 2 * problem_.microbatches;
    for (int round = 0; round < rounds; ++round)
      if (!input_gradients(rounds - round) || !forwards(round, rounds - round)) return std::nullopt;
    builder_.put_all_weights();
    if (!builder_.complete()) return std::nullopt;
    return std::move(builder_).take();
  }

 private:
  const VRankPolicy& rule(int rank) const { return policy_.ranks[static_cast<std::size_t>(rank)]; }
  bool left(int rank, Symbol code) const { return builder_.left(rank, code); }
  bool put(int rank, Symbol code) {
    if (!builder_.ready(rank, code) || !builder_.fits(rank, code)) return false;
    builder_.put(rank, code);
    return true;
  }

  /// The first microbatch runs down the V and up again; while its chunk-1 forward is on its way,
  /// every rank before it has time for more forwards of chunk 0.
  bool down_and_up() {
    const int ranks = problem_.ranks;
    for (int rank = 0; rank < ranks; ++rank)
      if (!put(rank, kF0)) return false;
    for (int rank = ranks - 1; rank >= 0; --rank) {
      while (rank < ranks - 1 && time_for_warmup(rank))
        for (int before = 0; before <= rank; ++before)
          if (left(before, kF0) && !put(before, kF0)) return false;
      if (!put(rank, kF1)) return false;
    }
    return true;
  }

  /// One more forward ends before the chunk-1 forward can start, and leaves room for those that
  /// the ranks after this one still need.
  bool time_for_warmup(int rank) const {
    const std::int64_t held = problem_.delta[problem_.row(rank, kF0)];
    return left(rank, kF0) &&
           builder_.alive(rank) + held * (2 + 2 * std::int64_t{rank}) <=
               problem_.limit[static_cast<std::size_t>(rank)] &&
           builder_.now(rank) + (1 + rule(rank).fewer_warmup) * builder_.next_cost(rank, kF0) <=
               builder_.arrival(rank, kF1);
  }

  /// Forwards of both chunks in turn until every rank holds as many as the rank before it.
  void fill_up() {
    Symbol next = kF0;
    for (int rank = 1; rank < problem_.ranks; ++rank) {
      for (int idle_turns = 0; idle_turns < 2 && behind(rank);) {
        bool any = false;
        for (int other = problem_.ranks - 1; other >= rank; --other) any = put(other, next) || any;
        idle_turns = any ? 0 : idle_turns + 1;
        next = next == kF0 ? kF1 : kF0;
      }
    }
  }
  bool behind(int rank) const {
    const auto forwards = [&](int of) { return builder_.done(of, kF0) + builder_.done(of, kF1); };
    return forwards(rank) + rule(rank).fewer_fill < forwards(rank - 1) ||
           (builder_.done(rank, kF1) <= builder_.done(rank - 1, kF1) && left(rank - 1, kF1));
  }

  Ticks slack(int rank) const {
    Ticks worst = builder_.worst_bubble();
    if (!policy_.tolerated.empty())
      worst = std::max(worst, most_tolerated_ - policy_.tolerated[static_cast<std::size_t>(rank)]);
    return worst - builder_.bubble(rank);
  }

  void wait_for(int rank, Ticks input_at, int left_rounds, const WaitRule& usual) {
    const VRankPolicy& ours = rule(rank);
    if (input_at > 0)
      fill_wait(builder_, rank, input_at, left_rounds <= ours.late_rounds ? ours.late : usual,
                slack(rank));
  }
  void put_input(int rank, Symbol code, int left_rounds) {
    wait_for(rank, builder_.arrival(rank, code), left_rounds, rule(rank).before_input);
    builder_.put(rank, code);
  }

  /// Chunk 0 where its gradient was put in an earlier round, else chunk 1, which the ranks hand on
  /// within the round.
  bool input_gradients(int left_rounds) {
    const int ranks = problem_.ranks;
    std::vector<bool> near(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank)
      near[static_cast<std::size_t>(rank)] =
          builder_.ready(rank, kI0) && !rule(rank).far_input_first;
    for (int rank = 0; rank < ranks; ++rank) {
      if (near[static_cast<std::size_t>(rank)]) continue;
      if (builder_.ready(rank, kI1))
        put_input(rank, kI1, left_rounds);
      else
        near[static_cast<std::size_t>(rank)] = true;
    }
    for (int rank = ranks - 1; rank >= 0; --rank) {
      if (!near[static_cast<std::size_t>(rank)]) continue;
      if (!builder_.ready(rank, kI0)) return false;
      put_input(rank, kI0, left_rounds);
    }
    return true;
  }

  bool far_forward_now(int rank) const {
    if (!builder_.ready(rank, kF1) || builder_.done(rank, kF1) >= builder_.done(rank, kF0))
      return false;
    return rule(rank).far_forward_first || !builder_.ready(rank, kF0);
  }

  bool forwards(int round, int left_rounds) {
    for (int rank = 0; rank < problem_.ranks; ++rank) {
      const VRankPolicy& ours = rule(rank);
      if (round >= ours.pause_from && round < ours.pause_from + ours.pauses) continue;
      const Symbol code = far_forward_now(rank) ? kF1 : kF0;
      if (!builder_.ready(rank, code)) continue;
      if (!builder_.make_room(rank, code)) return false;
      wait_for(rank, builder_.arrival(rank, code), left_rounds, ours.before_forward);
      builder_.put(rank, code);
    }
    return true;
  }

  const Problem& problem_;
  const VPolicy& policy_;
  Builder builder_;
  Ticks most_tolerated_ = 0;
};

}  // namespace

std::optional<Built> follow(const Problem& problem, const VPolicy& policy) {
  return VFollower(problem, policy).run();
}

std::vector<VPolicy> base_v_policies(const Problem& problem) {
  constexpr std::array<WaitRule, 5> kRules{{{WaitRule::Kind::Fill, 0},
                                            {WaitRule::Kind::Slack, 0},
                                            {WaitRule::Kind::Share, 0.4},
                                            {WaitRule::Kind::Share, 0.6},
                                            {WaitRule::Kind::Share, 0.8}}};
  std::vector<VPolicy> policies;
  for (const WaitRule& forward : kRules)
    for (const WaitRule& input : kRules) {
      VRankPolicy rank;
      rank.before_forward = forward;
      rank.before_input = input;
      policies.push_back(
          {std::vector<VRankPolicy>(static_cast<std::size_t>(problem.ranks), rank), {}});
    }
  return policies;
}

VPolicy varied(const VPolicy& policy, const Problem& problem, Random& random) {
  VPolicy changed = policy;
  const Stretch stretch = random_stretch(problem.ranks, random);
  const int choice = random.below(9);
  const int step = random.flip() ? 1 : -1;
  const bool flag = random.flip();
  const WaitRule wait = random_wait_rule(random);
  const int rounds = random.below(2 * problem.microbatches + 1);
  const int pauses = random.below(4);
  for (std::size_t index = stretch.first; index <= stretch.last; ++index) {
    VRankPolicy& rank = changed.ranks[index];
    if (choice == 0) rank.fewer_warmup = std::clamp(rank.fewer_warmup + step, -8, 8);
    if (choice == 1) rank.fewer_fill = std::clamp(rank.fewer_fill + step, -8, 8);
    if (choice == 2) rank.before_forward = wait;
    if (choice == 3) rank.before_input = wait;
    if (choice == 4) rank.late = wait;
    if (choice == 5) rank.late_rounds = rounds;
    if (choice == 6) rank.pause_from = rounds;
    if (choice == 6) rank.pauses = pauses;
    if (choice == 7) rank.far_forward_first = flag;
    if (choice == 8) rank.far_input_first = flag;
  }
  return changed;
}

}  // namespace pipecast::search

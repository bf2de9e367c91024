#include "schedules/search_policy.hpp"

#include <algorithm>

namespace pipecast::search {
namespace {

constexpr Symbol kForward = 0;
constexpr Symbol kInput = 1;
constexpr Symbol kWeight = 2;

/// One run of the greedy.
class Follower {
 public:
  Follower(const Problem& problem, const Policy& policy)
      : problem_(problem), policy_(policy), builder_(problem) {}

  std::optional<Built> run() {
    start_up();
    for (int left = problem_.microbatches - 1; left > 0; --left)
      if (!forwards(left) || !input_gradients(left)) return std::nullopt;
    builder_.put_all_weights();
    if (!builder_.complete()) return std::nullopt;
    return std::move(builder_).take();
  }

 private:
  const RankPolicy& rule(int rank) const { return policy_.ranks[static_cast<std::size_t>(rank)]; }
  std::int64_t limit(int rank) const { return problem_.limit[static_cast<std::size_t>(rank)]; }
  std::int64_t delta(int rank, Symbol code) const {
    return problem_.delta[problem_.row(rank, code)];
  }
  Ticks slack(int rank) const { return builder_.worst_bubble() - builder_.bubble(rank); }
  Ticks forward_time(int rank, int ahead) const {
    return problem_.cost(rank, kForward, builder_.done(rank, kForward) + ahead) + problem_.gap;
  }

  /// How many more forwards the rank runs before its first gradient arrives.
  int warmup(int rank, Ticks gradient_at) const {
    int number = 0;
    Ticks time = builder_.now(rank);
    std::int64_t alive = builder_.alive(rank) + delta(rank, kForward);
    for (; builder_.done(rank, kForward) + number < problem_.microbatches && alive <= limit(rank);
         ++number, alive += delta(rank, kForward)) {
      const Ticks end = time + forward_time(rank, number);
      const bool keeps = policy_.before_first == Policy::BeforeFirst::KeepGap;
      if (keeps ? end > gradient_at : time >= gradient_at) break;
      time = end;
    }
    return number;
  }

  std::vector<int> warmups() const {
    std::vector<int> extra(static_cast<std::size_t>(problem_.ranks), 0);
    Ticks gradient_at = 0;
    for (int rank = problem_.ranks - 1; rank >= 0; --rank) {
      Ticks time = builder_.now(rank);
      if (rank < problem_.ranks - 1) {
        const int number = warmup(rank, gradient_at);
        for (int i = 0; i < number; ++i) time += forward_time(rank, i);
        extra[static_cast<std::size_t>(rank)] = number;
      }
      gradient_at =
          std::max(time, gradient_at) + problem_.cost(rank, kInput, 0) + problem_.transfer;
    }
    return extra;
  }

  void start_up() {
    for (int rank = 0; rank < problem_.ranks; ++rank) builder_.put(rank, kForward);
    std::vector<int> extra = warmups();
    for (int rank = 0; rank < problem_.ranks; ++rank) {
      int& number = extra[static_cast<std::size_t>(rank)];
      number = std::max(0, number - rule(rank).fewer_warmup);
      // A rank needs one forward less than the one before it to keep the pipeline moving.
      if (rank > 0)
        number = std::min(number, std::max(0, extra[static_cast<std::size_t>(rank) - 1] - 1));
      for (int i = 0; i < number; ++i) builder_.put(rank, kForward);
    }
    for (int rank = problem_.ranks - 1; rank >= 0; --rank) builder_.put(rank, kInput);
  }

  /// Whether running the next forward now keeps the next gradient waiting for too long.
  bool forward_is_late(int rank) const {
    if (rank + 1 >= problem_.ranks ||
        builder_.done(rank, kForward) < builder_.done(rank + 1, kForward) + 2)
      return false;
    const Ticks gradient_at = builder_.now(rank + 1) + builder_.next_cost(rank + 1, kForward) +
                              builder_.next_cost(rank + 1, kInput) + problem_.transfer;
    if (builder_.now(rank) >= gradient_at) return true;
    Ticks end = builder_.now(rank) + builder_.next_cost(rank, kForward);
    std::int64_t alive = builder_.alive(rank) + delta(rank, kForward);
    for (int freed = 0; alive > limit(rank) && freed < builder_.pending_weights(rank); ++freed) {
      end += builder_.pending_cost(rank);
      alive += delta(rank, kWeight);
    }
    const double patience = rule(rank).patience;
    const double tolerated =
        patience * static_cast<double>(slack(rank)) +
        (patience - 1) * static_cast<double>(builder_.next_cost(rank, kWeight));
    return static_cast<double>(end - gradient_at) > tolerated;
  }

  std::vector<bool> choose_forwards() const {
    std::vector<bool> runs(static_cast<std::size_t>(problem_.ranks), false);
    for (int rank = problem_.ranks - 1; rank >= 0; --rank) {
      const auto index = static_cast<std::size_t>(rank);
      const bool next_runs = rank + 1 == problem_.ranks || runs[index + 1] ||
                             !builder_.left(rank + 1, kForward) || rule(rank).alone;
      runs[index] =
          next_runs && builder_.left(rank, kForward) && !(rule(rank).held && forward_is_late(rank));
    }
    return runs;
  }

  void wait_for(int rank, Ticks input_at, int left) {
    const RankPolicy& ours = rule(rank);
    fill_wait(builder_, rank, input_at, left <= ours.late_rounds ? ours.late : ours.early,
              slack(rank));
  }

  bool forwards(int left) {
    const std::vector<bool> runs = choose_forwards();
    for (int rank = 0; rank < problem_.ranks; ++rank) {
      if (!runs[static_cast<std::size_t>(rank)] || !builder_.ready(rank, kForward)) continue;
      for (int ahead = rule(rank).reserve;
           ahead > 0 && builder_.pending_weights(rank) > 0 &&
           builder_.alive(rank) + 2 * delta(rank, kForward) > limit(rank);
           --ahead)
        builder_.put_weight(rank);
      if (!builder_.make_room(rank, kForward)) return false;
      if (rank > 0) wait_for(rank, builder_.arrival(rank, kForward), left);
      builder_.put(rank, kForward);
    }
    return true;
  }

  bool input_gradients(int left) {
    for (int rank = problem_.ranks - 1; rank >= 0; --rank) {
      if (builder_.done(rank, kForward) <= builder_.done(rank, kInput)) return false;
      if (rank + 1 < problem_.ranks) wait_for(rank, builder_.arrival(rank, kInput), left);
      while (rank == 0 && !builder_.left(0, kForward) && builder_.pending_weights(0) > 0)
        builder_.put_weight(0);
      builder_.put(rank, kInput);
    }
    return true;
  }

  const Problem& problem_;
  const Policy& policy_;
  Builder builder_;
};

}  // namespace

void fill_wait(Builder& builder, int rank, Ticks input_at, const WaitRule& rule, Ticks slack) {
  if (builder.pending_weights(rank) == 0) return;
  switch (rule.kind) {
    case WaitRule::Kind::Slack:
      return builder.fill_wait(rank, input_at, slack);
    case WaitRule::Kind::Share:
      return builder.fill_wait(
          rank, input_at,
          static_cast<Ticks>(rule.share * static_cast<double>(builder.pending_cost(rank))));
    case WaitRule::Kind::Fill:
      return builder.fill_wait(rank, input_at, 0);
  }
}

std::optional<Built> follow(const Problem& problem, const Policy& policy) {
  return Follower(problem, policy).run();
}

std::vector<Policy> base_policies(const Problem& problem) {
  std::vector<Policy> policies;
  for (const auto before_first : {Policy::BeforeFirst::KeepGap, Policy::BeforeFirst::RunAcross})
    for (const bool held : {true, false})
      for (const auto kind : {WaitRule::Kind::Fill, WaitRule::Kind::Slack}) {
        RankPolicy rank;
        rank.held = held;
        rank.early.kind = kind;
        policies.push_back(
            {before_first, std::vector<RankPolicy>(static_cast<std::size_t>(problem.ranks), rank)});
      }
  return policies;
}

Stretch random_stretch(int ranks, Random& random) {
  const auto first = static_cast<std::size_t>(random.below(ranks));
  const auto second = random.below(3) != 0 ? first : static_cast<std::size_t>(random.below(ranks));
  return {std::min(first, second), std::max(first, second)};
}

WaitRule random_wait_rule(Random& random) {
  const int choice = random.below(4);
  return {.kind = choice == 0   ? WaitRule::Kind::Slack
                  : choice == 1 ? WaitRule::Kind::Fill
                                : WaitRule::Kind::Share,
          .share = random.unit()};
}

Policy varied(const Policy& policy, const Problem& problem, Random& random) {
  Policy changed = policy;
  const Stretch stretch = random_stretch(problem.ranks, random);
  const int choice = random.below(8);
  const int step = random.flip() ? 1 : -1;
  const bool flag = random.flip();
  const double patience = 3 * random.unit();
  const WaitRule wait = random_wait_rule(random);
  const int rounds = random.below(problem.microbatches + 1);
  const int reserve = random.below(6);
  for (std::size_t index = stretch.first; index <= stretch.last; ++index) {
    RankPolicy& rank = changed.ranks[index];
    if (choice == 0) rank.fewer_warmup = std::clamp(rank.fewer_warmup + step, 0, 8);
    if (choice == 1) rank.held = flag;
    if (choice == 2) rank.patience = patience;
    if (choice == 3) rank.alone = flag;
    if (choice == 4) rank.early = wait;
    if (choice == 5) rank.late = wait;
    if (choice == 6) rank.late_rounds = rounds;
    if (choice == 7) rank.reserve = reserve;
  }
  return changed;
}

}  // namespace pipecast::search

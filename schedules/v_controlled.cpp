#include <algorithm>
#include <array>

#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

/// Schedules that repeat a fixed pattern of slots on a V and are then pulled together without
/// raising the peak of any rank. The kinds of a rank are called in the order in which a microbatch
/// meets them: forward of chunk 0 and 1, input gradient of chunk 1 and 0, weight gradients.
namespace pipecast {
namespace {

enum Kind : int { kForward0, kForward1, kInput1, kInput0, kWeight };
constexpr int kIdle = -1;
constexpr int kPeriod = 6;

/// Slots of one rank. `times` is [kind][microbatch]; weight gradients are numbered in the order of
/// their input gradients. `slots` is the same the other way round.
struct Line {
  std::array<std::vector<int>, 5> times;
  std::vector<int> slots;  ///< [slot] kind or kIdle
  std::vector<int> alive;  ///< [slot] activations held after it

  int at(int slot) const {
    return slot < static_cast<int>(slots.size()) ? slots[static_cast<std::size_t>(slot)] : kIdle;
  }
  int last_slot() const {
    int last = 0;
    for (const std::vector<int>& list : times)
      if (!list.empty()) last = std::max(last, list.back());
    return last;
  }
  void lay_out() {
    slots.assign(static_cast<std::size_t>(last_slot()) + 1, kIdle);
    for (int kind = 0; kind < 5; ++kind)
      for (const int time : times[static_cast<std::size_t>(kind)])
        slots[static_cast<std::size_t>(time)] = kind;
  }
};

using Lines = std::vector<Line>;

bool is_input(int kind) { return kind == kInput1 || kind == kInput0; }

/// Weight gradients into the idle slots, oldest first; what is left over goes to the end.
void fill_weights(Line& line) {
  line.times[kWeight].clear();
  line.lay_out();
  int waiting = 0;
  int slot = 0;
  for (; slot < static_cast<int>(line.slots.size()); ++slot) {
    if (is_input(line.at(slot))) ++waiting;
    if (line.at(slot) != kIdle || waiting == 0) continue;
    line.times[kWeight].push_back(slot);
    --waiting;
  }
  while (waiting-- > 0) line.times[kWeight].push_back(slot++);
  line.lay_out();
}

/// Memory of a rank as a walk over its slots. Where the weight gradients have no slots yet they are
/// taken to fill the idle ones, oldest first.
struct Walk {
  int alive = 0;
  int waiting = 0;  ///< weight gradients not yet done; only counted while they have no slots

  void step(int kind, bool weights_have_slots) {
    if (kind == kForward0 || kind == kForward1) ++alive;
    if (kind == kWeight) --alive;
    if (weights_have_slots) return;
    if (is_input(kind)) ++waiting;
    if (kind == kIdle && waiting > 0) {
      --waiting;
      --alive;
    }
  }
  bool operator==(const Walk&) const = default;
};

/// Pulls the operations of warm-up and cool-down forward, each to the first free slot after what it
/// depends on, as long as the peak of its rank stays at the largest peak there was.
class Puller {
 public:
  Puller(Lines lines, bool weights_have_slots)
      : lines_(std::move(lines)), weights_have_slots_(weights_have_slots) {
    if (weights_have_slots_)
      for (Line& line : lines_) fill_weights(line);
    else
      for (Line& line : lines_) line.lay_out();
    for (const Line& line : lines_) {
      Walk walk;
      std::vector<Walk>& walks = walks_.emplace_back();
      for (const int kind : line.slots) {
        walk.step(kind, weights_have_slots_);
        walks.push_back(walk);
        limit_ = std::max(limit_, walk.alive);
      }
    }
  }

  /// The steady state, from the first return to rank 0 until the last microbatch enters, keeps its
  /// slots; so does the warm-up while weight gradients have none.
  Lines run() {
    enum class Phase { WarmUp, Steady, CoolDown } phase = Phase::WarmUp;
    const int last = static_cast<int>(lines_.front().times[kForward0].size()) - 1;
    std::vector<std::array<int, 5>> next(lines_.size(), std::array<int, 5>{});
    for (int slot = 0; slot < length(); ++slot)
      for (std::size_t rank = 0; rank < lines_.size(); ++rank) {
        const int kind = lines_[rank].at(slot);
        if (kind == kIdle) continue;
        const int number = next[rank][static_cast<std::size_t>(kind)]++;
        if (phase == Phase::WarmUp && kind == kInput0 && rank == 0) phase = Phase::Steady;
        if (phase == Phase::Steady) {
          if (kind == kForward0 && number == last) phase = Phase::CoolDown;
        } else if (phase == Phase::CoolDown || weights_have_slots_) {
          pull(rank, kind, number, slot);
        }
      }
    if (!weights_have_slots_)
      for (Line& line : lines_) fill_weights(line);
    return std::move(lines_);
  }

 private:
  int length() const {
    std::size_t longest = 0;
    for (const Line& line : lines_) longest = std::max(longest, line.slots.size());
    return static_cast<int>(longest);
  }
  int time_of(std::size_t rank, int kind, int number) const {
    return lines_[rank].times[static_cast<std::size_t>(kind)][static_cast<std::size_t>(number)];
  }

  /// Recomputes the memory walk of a rank from a slot on, until it meets the old one again.
  void record(std::size_t rank, int slot, int until) {
    std::vector<Walk>& walks = walks_[rank];
    Walk walk = before(rank, slot);
    for (int i = slot; i < static_cast<int>(walks.size()); ++i) {
      walk.step(lines_[rank].at(i), weights_have_slots_);
      if (i > until && walks[static_cast<std::size_t>(i)] == walk) return;
      walks[static_cast<std::size_t>(i)] = walk;
    }
  }

  Walk before(std::size_t rank, int slot) const {
    return slot == 0 ? Walk{} : walks_[rank][static_cast<std::size_t>(slot) - 1];
  }

  /// Whether the peak holds after an operation moved from `until` to `slot`.
  bool fits(std::size_t rank, int slot, int until) const {
    const Line& line = lines_[rank];
    Walk walk = before(rank, slot);
    for (int i = slot; i < static_cast<int>(line.slots.size()); ++i) {
      walk.step(line.at(i), weights_have_slots_);
      if (walk.alive > limit_) return false;
      if (i > until && walk == walks_[rank][static_cast<std::size_t>(i)]) return true;
    }
    return true;
  }

  /// The input gradient whose weight gradient is the number-th.
  int input_time(std::size_t rank, int number) const {
    const std::vector<int>& first = lines_[rank].times[kInput1];
    const std::vector<int>& second = lines_[rank].times[kInput0];
    std::size_t i = 0;
    std::size_t j = 0;
    for (int taken = 0;; ++taken) {
      const bool from_first = j == second.size() || (i < first.size() && first[i] < second[j]);
      const int time = from_first ? first[i++] : second[j++];
      if (taken == number) return time;
    }
  }

  int earliest(std::size_t rank, int kind, int number) const {
    int time = -1;
    if ((kind == kForward0 || kind == kInput1) && rank > 0)
      time = std::max(time, time_of(rank - 1, kind, number));
    if ((kind == kForward1 || kind == kInput0) && rank + 1 < lines_.size())
      time = std::max(time, time_of(rank + 1, kind, number));
    if (kind > kForward0 && kind < kWeight) time = std::max(time, time_of(rank, kind - 1, number));
    if (kind == kWeight) time = std::max(time, input_time(rank, number));
    if (number > 0) time = std::max(time, time_of(rank, kind, number - 1));
    return time + 1;
  }

  void move(std::size_t rank, int kind, int from, int to) {
    lines_[rank].slots[static_cast<std::size_t>(from)] = kIdle;
    lines_[rank].slots[static_cast<std::size_t>(to)] = kind;
  }

  void pull(std::size_t rank, int kind, int number, int slot) {
    for (int candidate = earliest(rank, kind, number); candidate < slot; ++candidate) {
      if (lines_[rank].at(candidate) != kIdle) continue;
      move(rank, kind, slot, candidate);
      if (fits(rank, candidate, slot)) {
        lines_[rank].times[static_cast<std::size_t>(kind)][static_cast<std::size_t>(number)] =
            candidate;
        record(rank, candidate, slot);
        return;
      }
      move(rank, kind, candidate, slot);
    }
  }

  Lines lines_;
  bool weights_have_slots_;
  std::vector<std::vector<Walk>> walks_;  ///< [rank][slot]
  int limit_ = 0;
};

/// Every operation as early as its rank's order and its dependencies allow, one slot each.
Lines squeezed(const Lines& lines) {
  std::size_t length = 0;
  for (const Line& line : lines) length = std::max(length, line.slots.size());
  Lines result = lines;
  std::vector<std::array<int, 5>> next(lines.size(), std::array<int, 5>{});
  std::vector<int> rank_end(lines.size(), 0);
  const auto end_of = [&](std::size_t rank, int kind, int number) {
    return result[rank].times[static_cast<std::size_t>(kind)][static_cast<std::size_t>(number)] + 1;
  };
  for (int slot = 0; slot < static_cast<int>(length); ++slot)
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
      const int kind = lines[rank].at(slot);
      if (kind == kIdle) continue;
      const int number = next[rank][static_cast<std::size_t>(kind)]++;
      int start = rank_end[rank];
      if ((kind == kForward0 || kind == kInput1) && rank > 0)
        start = std::max(start, end_of(rank - 1, kind, number));
      if ((kind == kForward1 || kind == kInput0) && rank + 1 < lines.size())
        start = std::max(start, end_of(rank + 1, kind, number));
      result[rank].times[static_cast<std::size_t>(kind)][static_cast<std::size_t>(number)] = start;
      rank_end[rank] = start + 1;
    }
  for (Line& line : result) {
    line.times[kWeight].clear();
    line.lay_out();
  }
  return result;
}

Lines repeated(const std::vector<std::array<int, 4>>& pattern, int microbatches) {
  Lines lines(pattern.size());
  for (std::size_t rank = 0; rank < pattern.size(); ++rank)
    for (std::size_t kind = 0; kind < 4; ++kind)
      for (int microbatch = 0; microbatch < microbatches; ++microbatch)
        lines[rank].times[kind].push_back(pattern[rank][kind] + kPeriod * microbatch);
  return lines;
}

/// The order of a rank by slots; idle slots take weight gradients, chunk 1 before chunk 0.
std::vector<Op> order_of(const Line& line, const Shape& shape, int rank) {
  const int stages[2] = {rank, 2 * shape.ranks - 1 - rank};
  std::vector<Op> ops;
  ops.reserve(6 * static_cast<std::size_t>(shape.microbatches));
  int done[4] = {};
  int weights[2] = {};
  const auto put_weight = [&](int chunk) {
    ops.push_back(backward_weight(stages[chunk], weights[chunk]++));
  };
  const auto waiting = [&](int chunk) {
    return done[chunk == 1 ? kInput1 : kInput0] > weights[chunk];
  };
  for (const int kind : line.slots) {
    if (kind == kIdle) {
      if (waiting(1) || waiting(0)) put_weight(waiting(1) ? 1 : 0);
      continue;
    }
    const int chunk = kind == kForward1 || kind == kInput1 ? 1 : 0;
    const OpKind op = is_input(kind) ? OpKind::BackwardInput : OpKind::Forward;
    ops.push_back(make_op(op, stages[chunk], done[kind]++));
  }
  for (const int chunk : {1, 0})
    while (waiting(chunk)) put_weight(chunk);
  return ops;
}

Program generate(const Shape& shape, const std::vector<std::array<int, 4>>& pattern) {
  const Lines with_weights = squeezed(Puller(repeated(pattern, shape.microbatches), true).run());
  const Lines lines = squeezed(Puller(with_weights, false).run());
  Program program = empty_program(shape, zigzag_placement(shape));
  for (int rank = 0; rank < shape.ranks; ++rank)
    program.ranks[static_cast<std::size_t>(rank)] =
        order_of(lines[static_cast<std::size_t>(rank)], shape, rank);
  return program;
}

Diagnostics check_v_min(const ScheduleRequest& request) {
  return require_chunks("v-min", request.shape, 2, "a V");
}
Result<Program> generate_v_min(const ScheduleRequest& request) {
  const int ranks = request.shape.ranks;
  const int gap = ranks % 3 == 0 ? 2 : 0;
  std::vector<std::array<int, 4>> pattern;
  for (int rank = 0; rank < ranks; ++rank)
    pattern.push_back(
        {rank, 2 * ranks - 1 - rank, 2 * ranks + gap + rank, 4 * ranks + gap - 1 - rank});
  return generate(request.shape, pattern);
}

Diagnostics check_v_half(const ScheduleRequest& request) {
  return require_chunks("v-half", request.shape, 2, "a V");
}
Result<Program> generate_v_half(const ScheduleRequest& request) {
  const int ranks = request.shape.ranks;
  const int gap = ranks % 2 == 0 ? 3 : 0;
  std::vector<std::array<int, 4>> pattern;
  for (int rank = 0; rank < ranks; ++rank)
    pattern.push_back({2 * rank, 3 * ranks - rank - 2, 3 * ranks + gap + 2 * rank - 1,
                       6 * ranks + gap - rank - 2});
  return generate(request.shape, pattern);
}

}  // namespace

ScheduleInfo v_min() {
  return {.name = "v-min",
          .summary = "a V at a third of the activations of 1F1B; the bubble grows a little",
          .provenance =
              "Qi et al. 2024 (controllable memory), greedy reordering of sail-sg "
              "zero-bubble",
          .backward = BackwardKind::Split,
          .default_chunks = 2,
          .fields = {},
          .check = check_v_min,
          .generate = generate_v_min,
          .placement = on_zigzag};
}

ScheduleInfo v_half() {
  return {.name = "v-half",
          .summary = "a V at half of the activations of 1F1B, half of its bubble",
          .provenance =
              "Qi et al. 2024 (controllable memory), greedy reordering of sail-sg "
              "zero-bubble",
          .backward = BackwardKind::Split,
          .default_chunks = 2,
          .fields = {},
          .check = check_v_half,
          .generate = generate_v_half,
          .placement = on_zigzag};
}

}  // namespace pipecast

#include <algorithm>
#include <array>

#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

/// Kinds of a rank in the order in which a microbatch meets them. A backward takes two slots: its
/// second half is a kind of its own, always in the slot behind.
enum Kind : int { kForward0, kForward1, kBackward1, kBackward0, kHalf1, kHalf0 };
constexpr int kIdle = -1;
constexpr int kPeriod = 6;

bool is_forward_kind(int kind) { return kind == kForward0 || kind == kForward1; }
bool is_half(int kind) { return kind == kHalf1 || kind == kHalf0; }

/// Slots of the first microbatch. A period has three pairs of slots: after as many consecutive
/// backwards as fit one forward's place the pattern skips three, so that the slots of later periods
/// never meet.
class Pattern {
 public:
  explicit Pattern(int ranks) : slots_(static_cast<std::size_t>(ranks)) {
    int now = 0;
    for (int rank = 0; rank < ranks; ++rank) slots_[at(rank)][kForward0] = ++now;
    for (int rank = ranks - 1; rank >= 0; --rank) slots_[at(rank)][kForward1] = ++now;
    now += ranks % 3 == 0 ? 4 : 1;
    int filled = (3 - (ranks + 2) % 3) % 3;
    const auto put = [&](int rank, int kind, int half) {
      slots_[at(rank)][static_cast<std::size_t>(kind)] = now;
      slots_[at(rank)][static_cast<std::size_t>(half)] = now + 1;
      now += 2;
      if (++filled < 3) return;
      filled = 0;
      now += 3;
    };
    for (int rank = 0; rank < ranks; ++rank) put(rank, kBackward1, kHalf1);
    for (int rank = ranks - 1; rank >= 0; --rank) put(rank, kBackward0, kHalf0);
  }

  /// Slot of the first microbatch, from the pattern's residues: each kind, rank after rank, takes
  /// the next slot with its residue.
  std::vector<std::array<int, 6>> first_slots() const {
    std::vector<std::array<int, 6>> first(slots_.size());
    int slot = kPeriod;
    const auto place = [&](std::size_t rank, std::size_t kind) {
      while (slot % kPeriod != slots_[rank][kind] % kPeriod) ++slot;
      first[rank][kind] = slot++;
    };
    const std::size_t ranks = slots_.size();
    for (std::size_t rank = 0; rank < ranks; ++rank) place(rank, kForward0);
    for (std::size_t rank = ranks; rank-- > 0;) place(rank, kForward1);
    for (std::size_t rank = 0; rank < ranks; ++rank) place(rank, kBackward1);
    for (std::size_t rank = ranks; rank-- > 0;) place(rank, kBackward0);
    for (auto& kinds : first) {
      kinds[kHalf1] = kinds[kBackward1] + 1;
      kinds[kHalf0] = kinds[kBackward0] + 1;
    }
    return first;
  }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  std::vector<std::array<int, 6>> slots_;
};

/// The repeated pattern of all ranks, pulled together: every operation, in time order, to the first
/// free slot after what it depends on; a forward only as far as the rank then stays below the peak.
class PulledPattern {
 public:
  PulledPattern(int ranks, int microbatches)
      : first_(Pattern(ranks).first_slots()),
        slots_(first_.size()),
        alive_(first_.size()),
        found_(first_.size()) {
    int last = 0;
    for (const auto& kinds : first_) last = std::max(last, kinds[kHalf0]);
    length_ = last + kPeriod * microbatches + 1;
    for (std::size_t rank = 0; rank < first_.size(); ++rank) lay_out(rank, microbatches);
  }

  std::vector<std::vector<int>> run() {
    for (int slot = 0; slot < length_; ++slot)
      for (std::size_t rank = 0; rank < slots_.size(); ++rank)
        if (kind_at(rank, slot) != kIdle) pull(rank, slot);
    return std::move(slots_);
  }

 private:
  void lay_out(std::size_t rank, int microbatches) {
    slots_[rank].assign(static_cast<std::size_t>(length_), kIdle);
    for (int kind = 0; kind < 6; ++kind)
      for (int microbatch = 0; microbatch < microbatches; ++microbatch)
        slots_[rank][static_cast<std::size_t>(first_[rank][static_cast<std::size_t>(kind)] +
                                              kPeriod * microbatch)] = kind;
    int alive = 0;
    for (const int kind : slots_[rank]) {
      if (is_forward_kind(kind)) ++alive;
      if (is_half(kind)) --alive;
      alive_[rank].push_back(alive);
      peak_ = std::max(peak_, alive);
    }
  }

  int kind_at(std::size_t rank, int slot) const {
    return slots_[rank][static_cast<std::size_t>(slot)];
  }
  int found(std::size_t rank, int kind, std::size_t number) const {
    return found_[rank][static_cast<std::size_t>(kind)][number];
  }

  /// First slot after everything the number-th operation of a kind waits for.
  int earliest(std::size_t rank, int kind, std::size_t number) const {
    int slot = number == 0 ? -1 : found(rank, kind, number - 1);
    const std::size_t last = slots_.size() - 1;
    const auto after = [&](std::size_t other, int other_kind) {
      slot = std::max(slot, found(other, other_kind, number));
    };
    switch (kind) {
      case kForward0:
        if (rank > 0) after(rank - 1, kForward0);
        break;
      case kForward1:
        rank < last ? after(rank + 1, kForward1) : after(rank, kForward0);
        break;
      case kBackward1:
        rank > 0 ? after(rank - 1, kHalf1) : after(rank, kForward1);
        break;
      case kBackward0:
        rank < last ? after(rank + 1, kHalf0) : after(rank, kHalf1);
        break;
      case kHalf1:
        after(rank, kBackward1);
        break;
      default:
        after(rank, kBackward0);
    }
    return slot + 1;
  }

  /// The free slot to go to, at most `slot`.
  int target(std::size_t rank, int kind, int from, int slot) const {
    int to = from;
    if (is_forward_kind(kind)) {
      to = slot;
      while (to > from && alive_[rank][static_cast<std::size_t>(to) - 1] < peak_) --to;
    }
    while (to < slot && kind_at(rank, to) != kIdle) ++to;
    const bool needs_two = kind == kBackward1 || kind == kBackward0;
    while (needs_two && to < slot && (kind_at(rank, to) != kIdle || kind_at(rank, to + 1) != kIdle))
      ++to;
    return to;
  }

  void pull(std::size_t rank, int slot) {
    const int kind = kind_at(rank, slot);
    auto& numbers = found_[rank][static_cast<std::size_t>(kind)];
    const int from = earliest(rank, kind, numbers.size());
    const int to = std::min(slot, target(rank, kind, from, slot));
    numbers.push_back(to);
    if (to == slot) return;
    slots_[rank][static_cast<std::size_t>(slot)] = kIdle;
    slots_[rank][static_cast<std::size_t>(to)] = kind;
    const int change = is_forward_kind(kind) ? 1 : is_half(kind) ? -1 : 0;
    for (int i = to; change != 0 && i < slot; ++i)
      alive_[rank][static_cast<std::size_t>(i)] += change;
  }

  std::vector<std::array<int, 6>> first_;
  std::vector<std::vector<int>> slots_;                 ///< [rank][slot] kind or kIdle
  std::vector<std::vector<int>> alive_;                 ///< [rank][slot] activations held after it
  std::vector<std::array<std::vector<int>, 6>> found_;  ///< [rank][kind][microbatch] final slot
  int length_ = 0;
  int peak_ = 0;
};

Diagnostics check_v_1f1b(const ScheduleRequest& request) {
  return require_chunks("v-1f1b", request.shape, 2, "a V");
}

Result<Program> generate_v_1f1b(const ScheduleRequest& request) {
  const Shape& shape = request.shape;
  const auto slots = PulledPattern(shape.ranks, shape.microbatches).run();
  Program program = empty_program(shape, zigzag_placement(shape));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(rank)];
    ops.reserve(4 * static_cast<std::size_t>(shape.microbatches));
    int done[4] = {};
    for (const int kind : slots[static_cast<std::size_t>(rank)]) {
      if (kind == kIdle || is_half(kind)) continue;
      const bool returning = kind == kForward1 || kind == kBackward1;
      const int stage = returning ? 2 * shape.ranks - 1 - rank : rank;
      ops.push_back(is_forward_kind(kind) ? forward(stage, done[kind]++)
                                          : backward(stage, done[kind]++));
    }
  }
  return program;
}

}  // namespace

ScheduleInfo v_1f1b() {
  return {.name = "v-1f1b",
          .summary =
              "1F1B on a V with whole backwards: about three quarters of the activations of "
              "1F1B",
          .provenance = "Qi et al. 2024 (controllable memory), v1f1b of sail-sg zero-bubble",
          .backward = BackwardKind::Full,
          .default_chunks = 2,
          .fields = {},
          .check = check_v_1f1b,
          .generate = generate_v_1f1b,
          .placement = on_zigzag};
}

}  // namespace pipecast

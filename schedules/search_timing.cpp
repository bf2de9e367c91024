#include "schedules/search_timing.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace pipecast::search {
namespace {

constexpr Ticks kNever = std::numeric_limits<Ticks>::max();

}  // namespace

Timing::Timing(const Problem& problem)
    : problem_(&problem),
      ranks_(problem.ranks),
      symbols_(problem.symbols()),
      microbatches_(problem.microbatches),
      length_(problem.length()),
      mask_words_((problem.length() + 63) / 64),
      gap_(problem.gap),
      transfer_(problem.transfer) {
  const std::size_t operations = at(ranks_) * at(length_);
  operations_.resize(operations);
  symbol_of_.resize(operations);
  node_at_.resize(operations);
  after_.resize(operations);
  alive_.resize(operations);
  offset_.assign(at(ranks_), 0);
  marked_.assign(at(ranks_ * mask_words_), 0);
  first_marked_.assign(at(ranks_), length_);
  key_.assign(at(ranks_), kNever);
  Ticks shortest = kNever;
  for (std::size_t index = 0; index < operations; ++index) {
    Operation& operation = operations_[index];
    const std::size_t row = index / at(microbatches_);
    const auto microbatch = static_cast<std::int32_t>(index % at(microbatches_));
    operation.duration = problem.duration[index];
    symbol_of_[index] = static_cast<Symbol>(row % at(symbols_));
    if (problem.feeds[row] >= 0) operation.feed = problem.feeds[row] * microbatches_ + microbatch;
    if (problem.feeds_to[row] >= 0) {
      operation.fed = problem.feeds_to[row] * microbatches_ + microbatch;
      operation.fed_rank = problem.feeds_to[row] / symbols_;
      shortest = std::min(shortest, operation.duration);
    }
  }
  lookahead_ = shortest == kNever ? kNever : shortest + transfer_;
}

bool Timing::assign(const Order& order) {
  for (int rank = 0; rank < ranks_; ++rank) {
    std::vector<int> next(at(symbols_), 0);
    std::int64_t alive = 0;
    for (int position = 0; position < length_; ++position) {
      const Symbol code = order[at(rank)][at(position)];
      const std::size_t index = problem_->row(rank, code) * at(microbatches_) + at(next[code]++);
      node_at_[slot(rank, position)] = static_cast<std::int32_t>(index);
      operations_[index].position = position;
      alive += problem_->delta[problem_->row(rank, code)];
      alive_[slot(rank, position)] = alive;
    }
    Ticks after = 0;
    for (int position = length_ - 1; position >= 0; --position) {
      after_[slot(rank, position)] = after;
      after += gap_ + operations_[node(rank, position)].duration;
    }
  }
  return time_all();
}

/// Every rank runs until it waits for another; whoever is fed goes on. What never runs is a
/// deadlock.
bool Timing::time_all() {
  for (Operation& operation : operations_) operation.end = kNever;
  std::vector<int> done(at(ranks_), 0);
  std::vector<int> ready;
  for (int rank = ranks_ - 1; rank >= 0; --rank) ready.push_back(rank);
  while (!ready.empty()) {
    const int rank = ready.back();
    ready.pop_back();
    int& position = done[at(rank)];
    for (; position < length_; ++position) {
      Operation& operation = operations_[node(rank, position)];
      Ticks start = free_at(rank, position);
      if (operation.feed >= 0) {
        const Ticks fed_at = operations_[at(operation.feed)].end;
        if (fed_at == kNever) break;
        start = std::max(start, fed_at + transfer_);
      }
      operation.end = start + operation.duration;
      if (operation.fed >= 0 &&
          operations_[at(operation.fed)].position == done[at(operation.fed_rank)])
        ready.push_back(operation.fed_rank);
    }
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    if (done[at(rank)] < length_) return false;
    const Operation& first = operations_[node(rank, 0)];
    offset_[at(rank)] = problem_->objective == Objective::Makespan ? 0 : first.end - first.duration;
  }
  return true;
}

bool Timing::movable(const Move& move) const {
  const int rank = move.rank;
  const std::size_t moved = node(rank, move.from);
  const Symbol code = symbol_of_[moved];
  const std::int64_t change = problem_->delta[problem_->row(rank, code)];
  const std::int64_t limit = problem_->limit[at(rank)];
  const int step = move.from < move.to ? 1 : -1;
  for (int position = move.from + step; position != move.to + step; position += step) {
    const std::size_t passed = node(rank, position);
    const Symbol passed_code = symbol_of_[passed];
    if (passed_code == code) return false;
    const Symbol earlier = step > 0 ? code : passed_code;
    const Symbol later = step > 0 ? passed_code : code;
    if (problem_->local[problem_->row(rank, later)] == earlier &&
        (passed > moved ? passed - moved : moved - passed) % at(microbatches_) == 0)
      return false;
    // To the right the operation's memory leaves the prefix, to the left it enters it.
    const std::int64_t alive = step > 0        ? alive_[slot(rank, position)] - change
                               : position == 0 ? change
                                               : alive_[slot(rank, position - 1)] + change;
    if (alive > limit) return false;
  }
  return true;
}

void Timing::rotate(const Move& move) {
  const int rank = move.rank;
  const int step = move.from < move.to ? 1 : -1;
  const std::int32_t moved = node_at_[slot(rank, move.from)];
  for (int position = move.from; position != move.to; position += step) {
    const std::int32_t passed = node_at_[slot(rank, position + step)];
    node_at_[slot(rank, position)] = passed;
    operations_[at(passed)].position = position;
  }
  node_at_[slot(rank, move.to)] = moved;
  operations_[at(moved)].position = move.to;
  const int low = std::min(move.from, move.to);
  const int high = std::max(move.from, move.to);
  std::int64_t alive = low == 0 ? 0 : alive_[slot(rank, low - 1)];
  for (int position = low; position <= high; ++position) {
    alive += problem_->delta[problem_->row(rank, symbol_at(rank, position))];
    alive_[slot(rank, position)] = alive;
  }
  Ticks after = after_[slot(rank, high)];
  for (int position = high; position > low; --position) {
    after += gap_ + operations_[node(rank, position)].duration;
    after_[slot(rank, position - 1)] = after;
  }
}

void Timing::mark(int rank, int position) {
  marked_[at(rank * mask_words_ + position / 64)] |= std::uint64_t{1} << (position % 64);
  if (position >= first_marked_[at(rank)]) return;
  first_marked_[at(rank)] = position;
  key_[at(rank)] = free_at(rank, position);
}

void Timing::clear_mark(int rank, int position) {
  marked_[at(rank * mask_words_ + position / 64)] &= ~(std::uint64_t{1} << (position % 64));
}

int Timing::next_marked(int rank, int position) const {
  int word = position / 64;
  if (word >= mask_words_) return length_;
  std::uint64_t bits =
      marked_[at(rank * mask_words_ + word)] & (~std::uint64_t{0} << (position % 64));
  while (bits == 0) {
    if (++word == mask_words_) return length_;
    bits = marked_[at(rank * mask_words_ + word)];
  }
  return word * 64 + std::countr_zero(bits);
}

/// Re-times the rank's marked operations, and those whose predecessor moved, while they start
/// before `horizon`: until then no other rank can still change what they wait for.
bool Timing::advance(int rank, Ticks horizon, Ticks ceiling) {
  const Ticks allowed = ceiling + offset_[at(rank)];
  int position = first_marked_[at(rank)];
  Ticks start = key_[at(rank)];
  for (;;) {
    clear_mark(rank, position);
    const std::size_t index = node(rank, position);
    Operation& operation = operations_[index];
    if (operation.feed >= 0)
      start = std::max(start, operations_[at(operation.feed)].end + transfer_);
    const Ticks end = start + operation.duration;
    ++retimed_;
    int next = position + 1;
    if (end != operation.end) {
      log_.push_back({static_cast<std::int32_t>(index), operation.end});
      operation.end = end;
      if (end + after_[slot(rank, position)] > allowed) return false;
      if (operation.fed >= 0) mark(operation.fed_rank, operations_[at(operation.fed)].position);
    } else {
      next = next_marked(rank, next);
    }
    if (next >= length_) break;
    position = next;
    start = free_at(rank, position);
    if (start < horizon) continue;
    first_marked_[at(rank)] = length_;
    mark(rank, position);
    return true;
  }
  first_marked_[at(rank)] = length_;
  key_[at(rank)] = kNever;
  return true;
}

bool Timing::retime(int rank, int low, int high, Ticks ceiling) {
  log_.clear();
  for (int position = low; position <= std::min(high + 1, length_ - 1); ++position)
    mark(rank, position);
  // A circle of waits never settles; it passes the ceiling or this count.
  const std::int64_t most = retimed_ + 4 * static_cast<std::int64_t>(operations_.size());
  for (;;) {
    int first = -1;
    Ticks earliest = kNever;
    Ticks second = kNever;
    for (int other = 0; other < ranks_; ++other) {
      const Ticks key = key_[at(other)];
      if (key < earliest) {
        second = earliest;
        earliest = key;
        first = other;
      } else {
        second = std::min(second, key);
      }
    }
    if (first < 0) return true;
    const Ticks horizon = second == kNever ? kNever : second + lookahead_;
    if (!advance(first, horizon, ceiling) || retimed_ > most) return false;
  }
}

void Timing::restore() {
  for (auto change = log_.rbegin(); change != log_.rend(); ++change)
    operations_[at(change->operation)].end = change->end;
  log_.clear();
}

bool Timing::try_move(const Move& move, Ticks ceiling) {
  last_move_ = move;
  rotate(move);
  if (retime(move.rank, std::min(move.from, move.to), std::max(move.from, move.to), ceiling))
    return true;
  undo();
  std::fill(marked_.begin(), marked_.end(), 0);
  std::fill(first_marked_.begin(), first_marked_.end(), length_);
  std::fill(key_.begin(), key_.end(), kNever);
  return false;
}

void Timing::undo() {
  restore();
  rotate({last_move_.rank, last_move_.to, last_move_.from});
}

Ticks Timing::objective() const {
  Ticks worst = 0;
  for (int rank = 0; rank < ranks_; ++rank) worst = std::max(worst, score(rank));
  return worst;
}

Ticks Timing::wait_before(int rank, int position) const {
  const Operation& operation = operations_[node(rank, position)];
  return position == 0 ? 0 : operation.end - operation.duration - free_at(rank, position);
}

void Timing::critical_path(std::vector<Place>& path) const {
  path.clear();
  Place place;
  for (int rank = 0; rank < ranks_; ++rank)
    if (score(rank) > score(place.rank)) place.rank = rank;
  place.position = length_ - 1;
  for (;;) {
    path.push_back(place);
    if (wait_before(place.rank, place.position) > 0 || place.position == 0) {
      const std::int32_t feed = operations_[node(place.rank, place.position)].feed;
      if (feed < 0) return;
      place = {static_cast<int>(at(feed) / at(length_)), operations_[at(feed)].position};
    } else {
      --place.position;
    }
  }
}

Order Timing::order() const {
  Order order(at(ranks_));
  for (int rank = 0; rank < ranks_; ++rank)
    for (int position = 0; position < length_; ++position)
      order[at(rank)].push_back(symbol_at(rank, position));
  return order;
}

}  // namespace pipecast::search

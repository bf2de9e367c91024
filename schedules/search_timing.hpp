#pragma once
#include <cstdint>
#include <vector>

#include "schedules/search_problem.hpp"

namespace pipecast::search {

/// Moves the operation at position `from` of a rank to position `to`.
struct Move {
  int rank = 0;
  int from = 0;
  int to = 0;
};

/// A place in an order.
struct Place {
  int rank = 0;
  int position = 0;
};

/// Earliest times of an order, kept up to date while operations are moved.
///
/// Invariant: end = duration + max(end of the rank's previous operation + gap, end of the feeding
/// operation on another rank + transfer). A move re-times only what it reaches, in order of time,
/// so most moves cost a few dozen operations; a move that delays a rank beyond a ceiling is taken
/// back as soon as that is certain.
class Timing {
 public:
  explicit Timing(const Problem& problem);

  /// Times a whole order. False when it can never finish; then only assign() may follow.
  /// O(operations).
  bool assign(const Order& order);

  /// Whether the operation at `from` may stand at `to`: it passes no operation of its own symbol,
  /// none it depends on locally, and memory stays within the limit. O(|from − to|).
  bool movable(const Move& move) const;
  /// Moves it and re-times. False, and nothing changed, when a rank's score would exceed
  /// `ceiling`. Precondition: movable().
  bool try_move(const Move& move, Ticks ceiling);
  /// Takes back the last successful move.
  void undo();

  /// The rank's share of the objective: its span, or its completion.
  Ticks score(int rank) const { return operations_[last(rank)].end - offset_[at(rank)]; }
  Ticks objective() const;

  Symbol symbol_at(int rank, int position) const { return symbol_of_[node(rank, position)]; }
  /// Time the rank waits before the operation at `position`.
  Ticks wait_before(int rank, int position) const;
  /// Operations from the end of the rank with the worst score back to time 0, each the one that
  /// decided the start of the one before it in the list. O(operations on it).
  void critical_path(std::vector<Place>& path) const;
  Order order() const;
  /// Operations timed so far by try_move(): what a search costs.
  std::int64_t retimed() const { return retimed_; }

 private:
  struct Operation {
    Ticks duration = 0;
    Ticks end = 0;
    std::int32_t feed = -1;      ///< index of the operation of another rank it waits for
    std::int32_t fed = -1;       ///< index of the operation of another rank that waits for it
    std::int32_t fed_rank = -1;  ///< rank of `fed`
    std::int32_t position = 0;   ///< in its rank's word
  };
  struct Change {
    std::int32_t operation;
    Ticks end;
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  std::size_t slot(int rank, int position) const { return at(rank * length_ + position); }
  std::size_t node(int rank, int position) const { return at(node_at_[slot(rank, position)]); }
  std::size_t last(int rank) const { return node(rank, length_ - 1); }
  Ticks free_at(int rank, int position) const {
    return position == 0 ? 0 : operations_[node(rank, position - 1)].end + gap_;
  }

  bool time_all();
  void rotate(const Move& move);
  bool retime(int rank, int low, int high, Ticks ceiling);
  bool advance(int rank, Ticks horizon, Ticks ceiling);
  void mark(int rank, int position);
  void clear_mark(int rank, int position);
  int next_marked(int rank, int position) const;
  void restore();

  const Problem* problem_;
  int ranks_, symbols_, microbatches_, length_, mask_words_;
  Ticks gap_, transfer_, lookahead_;
  std::vector<Operation> operations_;  ///< like Problem::duration
  std::vector<Symbol> symbol_of_;      ///< like Problem::duration
  std::vector<std::int32_t> node_at_;  ///< [rank · length + position] index into operations_
  std::vector<Ticks> after_;           ///< [rank · length + position] least time to the rank's end
  std::vector<std::int64_t> alive_;    ///< [rank · length + position] memory after it
  std::vector<Ticks> offset_;          ///< [rank] what score() subtracts
  std::vector<std::uint64_t> marked_;  ///< [rank · mask words + word] positions to re-time
  std::vector<int> first_marked_;      ///< [rank] no position before it is marked; length: none
  std::vector<Ticks> key_;             ///< [rank] earliest start of its first marked position
  std::vector<Change> log_;
  Move last_move_;
  std::int64_t retimed_ = 0;
};

}  // namespace pipecast::search

#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "schedules/search_problem.hpp"

namespace pipecast::search {

/// A constructed order that keeps the limit, timed.
struct Built {
  Order order;
  Ticks objective = 0;
  std::vector<Ticks> bubble;  ///< [rank] time it waited since its first operation
};

/// An order under construction: all ranks advance together and every operation is timed when it is
/// put. What the greedy constructions share.
class Builder {
 public:
  static constexpr Ticks kUnknown = std::numeric_limits<Ticks>::max();

  explicit Builder(const Problem& problem);

  int done(int rank, Symbol code) const { return count_[problem_->row(rank, code)]; }
  bool left(int rank, Symbol code) const { return done(rank, code) < problem_->microbatches; }
  Ticks now(int rank) const { return now_[at(rank)]; }
  /// Time the rank has waited since its first operation.
  Ticks bubble(int rank) const { return bubble_[at(rank)]; }
  Ticks worst_bubble() const { return worst_bubble_; }
  std::int64_t alive(int rank) const { return alive_[at(rank)]; }

  /// When the input of the rank's next `code` is there: kUnknown while its producer on another
  /// rank has not been put, 0 when no other rank produces it.
  Ticks arrival(int rank, Symbol code) const;
  /// The input is known and what must come first on this rank is put.
  bool ready(int rank, Symbol code) const;
  /// Of the rank's next operation of that symbol (of the last one when none is left).
  Ticks next_cost(int rank, Symbol code) const;
  bool fits(int rank, Symbol code) const {
    return alive(rank) + problem_->delta[problem_->row(rank, code)] <= problem_->limit[at(rank)];
  }

  /// Weight gradients whose input gradient is put; they run in the order of those.
  int pending_weights(int rank) const {
    return static_cast<int>(pending_[at(rank)].size() - taken_[at(rank)]);
  }
  /// Of the oldest pending weight gradient. Precondition: there is one.
  Ticks pending_cost(int rank) const { return next_cost(rank, pending_symbol(rank)); }

  /// Precondition: ready() and fits().
  void put(int rank, Symbol code);
  /// Puts the oldest pending weight gradient. Precondition: there is one.
  void put_weight(int rank);
  /// Puts weight gradients until `code` fits. False when none is left and it still does not.
  bool make_room(int rank, Symbol code);
  void put_all_weights();
  /// Puts the weight gradients that fit into the wait for `input_at`, and one that does not when
  /// the rest of the wait exceeds `tolerated`.
  void fill_wait(int rank, Ticks input_at, Ticks tolerated);

  /// Every operation is put.
  bool complete() const;
  /// Precondition: complete().
  Built take() &&;

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  Symbol pending_symbol(int rank) const { return pending_[at(rank)][taken_[at(rank)]]; }

  const Problem* problem_;
  std::vector<std::int32_t> count_;           ///< [rank · symbols + symbol]
  std::vector<Ticks> end_;                    ///< like Problem::duration
  std::vector<Ticks> now_;                    ///< [rank]
  std::vector<Ticks> first_;                  ///< [rank] start of its first operation
  std::vector<Ticks> bubble_;                 ///< [rank]
  std::vector<std::int64_t> alive_;           ///< [rank]
  std::vector<std::vector<Symbol>> pending_;  ///< [rank] weight gradients in order
  std::vector<std::size_t> taken_;            ///< [rank] how many of `pending_` are put
  Ticks worst_bubble_ = 0;
  Order order_;
};

}  // namespace pipecast::search

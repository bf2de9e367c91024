#include "schedules/search_builder.hpp"

#include <algorithm>

namespace pipecast::search {

Builder::Builder(const Problem& problem)
    : problem_(&problem),
      count_(problem.row(problem.ranks, 0), 0),
      end_(problem.duration.size()),
      now_(at(problem.ranks), 0),
      first_(at(problem.ranks), 0),
      bubble_(at(problem.ranks), 0),
      alive_(at(problem.ranks), 0),
      pending_(at(problem.ranks)),
      taken_(at(problem.ranks), 0),
      order_(at(problem.ranks)) {
  for (Word& word : order_) word.reserve(at(problem.length()));
}

Ticks Builder::arrival(int rank, Symbol code) const {
  const std::size_t row = problem_->row(rank, code);
  const std::int32_t feed = problem_->feeds[row];
  if (feed < 0) return 0;
  const std::int32_t microbatch = count_[row];
  if (microbatch >= count_[at(feed)]) return kUnknown;
  return end_[at(feed) * at(problem_->microbatches) + at(microbatch)] + problem_->transfer;
}

bool Builder::ready(int rank, Symbol code) const {
  const std::int32_t before = problem_->local[problem_->row(rank, code)];
  if (before >= 0 && done(rank, static_cast<Symbol>(before)) <= done(rank, code)) return false;
  return left(rank, code) && arrival(rank, code) != kUnknown;
}

Ticks Builder::next_cost(int rank, Symbol code) const {
  return problem_->cost(rank, code, std::min(done(rank, code), problem_->microbatches - 1));
}

void Builder::put(int rank, Symbol code) {
  const std::size_t row = problem_->row(rank, code);
  const std::size_t node = row * at(problem_->microbatches) + at(count_[row]);
  const Ticks start = std::max(now(rank), arrival(rank, code));
  if (order_[at(rank)].empty()) {
    first_[at(rank)] = start;
  } else {
    bubble_[at(rank)] += start - now(rank);
    worst_bubble_ = std::max(worst_bubble_, bubble_[at(rank)]);
  }
  end_[node] = start + problem_->duration[node];
  now_[at(rank)] = end_[node] + problem_->gap;
  alive_[at(rank)] += problem_->delta[row];
  ++count_[row];
  order_[at(rank)].push_back(code);
  if (problem_->part(code) == Part::BackwardInput)
    pending_[at(rank)].push_back(static_cast<Symbol>(code + problem_->chunks));
}

void Builder::put_weight(int rank) {
  const Symbol code = pending_symbol(rank);
  ++taken_[at(rank)];
  put(rank, code);
}

bool Builder::make_room(int rank, Symbol code) {
  while (!fits(rank, code)) {
    if (pending_weights(rank) == 0) return false;
    put_weight(rank);
  }
  return true;
}

void Builder::put_all_weights() {
  for (int rank = 0; rank < problem_->ranks; ++rank)
    while (pending_weights(rank) > 0) put_weight(rank);
}

void Builder::fill_wait(int rank, Ticks input_at, Ticks tolerated) {
  while (pending_weights(rank) > 0 && now(rank) + pending_cost(rank) <= input_at) put_weight(rank);
  if (pending_weights(rank) > 0 && input_at - now(rank) > tolerated) put_weight(rank);
}

bool Builder::complete() const {
  return std::all_of(count_.begin(), count_.end(),
                     [&](std::int32_t number) { return number == problem_->microbatches; });
}

Built Builder::take() && {
  Ticks worst = 0;
  for (int rank = 0; rank < problem_->ranks; ++rank) {
    const Ticks from = problem_->objective == Objective::Makespan ? 0 : first_[at(rank)];
    worst = std::max(worst, now(rank) - problem_->gap - from);
  }
  return {std::move(order_), worst, std::move(bubble_)};
}

}  // namespace pipecast::search

#include <algorithm>
#include <deque>

#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

Diagnostics check_bpipe(const ScheduleRequest& request) {
  return require_one_chunk("1f1b-bpipe", request.shape);
}

/// ceil((P+2)/2): what any rank of a pair holds when the two share their P + 1 activations, one
/// being on its way.
int shared_peak(int ranks) { return (ranks + 3) / 2; }

/// A rank of 1F1B that keeps at most `most` activations itself: the rest goes to the partner right
/// after its forward and comes back, the oldest first, as backwards make room.
class SharingRank {
 public:
  SharingRank(const Shape& shape, int rank, int most)
      : microbatches_(shape.microbatches),
        rank_(rank),
        partner_(shape.ranks - 1 - rank),
        warmup_(std::min(shape.microbatches, shape.ranks - 1 - rank)),
        most_(most) {}

  void build(Program& program) {
    ops_.reserve(2 * static_cast<std::size_t>(microbatches_));
    for (int microbatch = 0; microbatch < warmup_; ++microbatch) put_forward(microbatch);
    for (int microbatch = 0; microbatch < microbatches_; ++microbatch) {
      if (warmup_ + microbatch < microbatches_) put_forward(warmup_ + microbatch);
      put_backward(microbatch);
    }
    program.ranks[static_cast<std::size_t>(rank_)] = std::move(ops_);
    program.exchanges.insert(program.exchanges.end(), exchanges_.begin(), exchanges_.end());
  }

 private:
  void put_forward(int microbatch) {
    ops_.push_back(forward(rank_, microbatch));
    ++here_;
    const bool another_forward = microbatch + 1 < microbatches_;
    if (here_ < most_ || !another_forward) return;
    away_.push_back(exchanges_.size());
    exchanges_.push_back({{rank_}, {microbatch}, {partner_}, {0}});
    --here_;
  }

  void put_backward(int microbatch) {
    ops_.push_back(backward(rank_, microbatch));
    --here_;
    const bool another_forward = warmup_ + microbatch + 1 < microbatches_;
    if (away_.empty() || here_ >= most_ - (another_forward ? 1 : 0)) return;
    exchanges_[away_.front()].restore_after = {microbatch};
    away_.pop_front();
    ++here_;
  }

  int microbatches_;
  int rank_;
  int partner_;
  int warmup_;
  int most_;
  int here_ = 0;                  ///< activations this rank holds
  std::deque<std::size_t> away_;  ///< exchanges whose activation is with the partner
  std::vector<Op> ops_;
  std::vector<ActivationExchange> exchanges_;
};

Result<Program> generate_bpipe(const ScheduleRequest& request) {
  const Shape& shape = request.shape;
  Program program = empty_program(shape, loop_placement(shape));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const int own_peak = std::min(shape.microbatches, shape.ranks - rank);
    const bool lends = own_peak > shared_peak(shape.ranks);
    SharingRank(shape, rank, lends ? shared_peak(shape.ranks) : own_peak + 1).build(program);
  }
  return program;
}

}  // namespace

ScheduleInfo bpipe() {
  return {
      .name = "1f1b-bpipe",
      .summary =
          "1F1B whose early ranks lend activations to the late ones: no rank holds more "
          "than ceil((P + 2) / 2), for two extra transfers each",
      .provenance = "Kim et al. 2023 (BPipe), activation exchange between ranks r and P − 1 − r",
      .backward = BackwardKind::Full,
      .default_chunks = 1,
      .fields = {},
      .check = check_bpipe,
      .generate = generate_bpipe};
}

}  // namespace pipecast

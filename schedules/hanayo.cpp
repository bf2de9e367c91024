#include <algorithm>
#include <array>
#include <string>

#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

struct HanayoParams {
  int waves = 0;
};

using HanayoField = Field<HanayoParams>;
const std::array kFields{HanayoField{"waves", &HanayoParams::waves,
                                     "times the model runs down the ranks and back; 0: half of the "
                                     "chunks",
                                     0, kMaxChunks / 2}};

Diagnostics check_hanayo(const ScheduleRequest& request) {
  const int waves = pipecast::bind<HanayoParams>(kFields, request.params).waves;
  const int chunks = request.shape.chunks;
  if (waves != 0)
    return require_chunks("hanayo", request.shape, 2 * waves,
                          "two per wave, waves is " + std::to_string(waves));
  if (chunks % 2 == 0) return {};
  return {infeasible("hanayo needs two chunks per wave, chunks is " + std::to_string(chunks),
                     "set chunks to " + nearest_multiples(chunks, 2))};
}

/// A rank of the zigzag. Outgoing chunks are the even ones, returning chunks the odd ones.
class WaveRank {
 public:
  WaveRank(const Shape& shape, int rank) : shape_(shape), rank_(rank) {
    ops_.reserve(3 * static_cast<std::size_t>(shape.chunks * shape.microbatches));
  }

  std::vector<Op> build() {
    const int waves = shape_.chunks / 2;
    const int warmup = std::min(shape_.ranks - rank_, shape_.microbatches);
    for (int i = 0; i < warmup; ++i) put_outgoing();
    for (int wave = 0; wave < waves; ++wave)
      for (int microbatch = 0; microbatch < shape_.microbatches; ++microbatch) {
        ops_.push_back(forward(stage(2 * wave + 1), microbatch));
        if (outgoing_ < waves * shape_.microbatches)
          put_outgoing();
        else
          put_returning();
      }
    for (int wave = waves - 1; wave >= 0; --wave)
      for (int microbatch = 0; microbatch < shape_.microbatches; ++microbatch) {
        put_gradients(2 * wave, microbatch);
        if (returning_ < waves * shape_.microbatches) put_returning();
      }
    return std::move(ops_);
  }

 private:
  int stage(int chunk) const {
    return chunk * shape_.ranks + (chunk % 2 == 0 ? rank_ : shape_.ranks - 1 - rank_);
  }
  /// The next forward of an outgoing chunk: all microbatches of a wave before the next wave.
  void put_outgoing() {
    ops_.push_back(
        forward(stage(2 * (outgoing_ / shape_.microbatches)), outgoing_ % shape_.microbatches));
    ++outgoing_;
  }
  /// The next backward of a returning chunk, from the last wave on.
  void put_returning() {
    put_gradients(shape_.chunks - 1 - 2 * (returning_ / shape_.microbatches),
                  returning_ % shape_.microbatches);
    ++returning_;
  }
  void put_gradients(int chunk, int microbatch) {
    ops_.push_back(backward_input(stage(chunk), microbatch));
    ops_.push_back(backward_weight(stage(chunk), microbatch));
  }

  Shape shape_;
  int rank_;
  int outgoing_ = 0;   ///< forwards of outgoing chunks so far
  int returning_ = 0;  ///< backwards of returning chunks so far
  std::vector<Op> ops_;
};

Result<Program> generate_hanayo(const ScheduleRequest& request) {
  Program program = empty_program(request.shape, zigzag_placement(request.shape));
  for (int rank = 0; rank < request.shape.ranks; ++rank)
    program.ranks[static_cast<std::size_t>(rank)] = WaveRank(request.shape, rank).build();
  return program;
}

}  // namespace

ScheduleInfo hanayo() {
  return {.name = "hanayo",
          .summary =
              "the model runs down the ranks and back in waves; one copy of the weights, "
              "meant for m = P, activations grow with m",
          .provenance = "Liu et al. 2023; order of topal-team/elf, the authors' code is not public",
          .backward = BackwardKind::Split,
          .default_chunks = 2,
          .fields = describe<HanayoParams>(kFields),
          .check = check_hanayo,
          .generate = generate_hanayo,
          .placement = on_zigzag};
}

}  // namespace pipecast

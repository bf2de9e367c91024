#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/model/ids.hpp"

namespace pipecast {

/// P pipeline ranks, v chunks (virtual stages) per rank, m microbatches per step.
struct Shape {
  int ranks = 1;
  int chunks = 1;
  int microbatches = 1;

  int stages() const { return ranks * chunks; }
  bool operator==(const Shape&) const = default;
};

/// Largest accepted values: what a reader checks before memory is taken for a shape.
inline constexpr int kMaxRanks = 16384;
inline constexpr int kMaxChunks = 1024;
inline constexpr int kMaxMicrobatches = 1 << 20;
inline constexpr int kMaxStages = 1 << 20;           ///< P · v
inline constexpr std::int64_t kMaxOps = 50'000'000;  ///< P · v · m

/// Bounds of a shape, each violated one named with the limit.
Diagnostics check(const Shape& shape);

enum class OpKind : std::uint8_t {
  Forward,
  BackwardFull,    ///< gradients of input and weights in one operation
  BackwardInput,   ///< gradient of the input only
  BackwardWeight,  ///< gradient of the weights only, after the BackwardInput of the same stage and
                   ///< microbatch
  SendForward,     ///< the activation leaves for the next stage
  ReceiveForward,  ///< the activation of the previous stage arrives
  SendBackward,    ///< the gradient leaves for the previous stage
  ReceiveBackward,
  Unshard,          ///< gather the parameters of a stage
  Reshard,          ///< free gathered parameters
  ReduceGrad,       ///< reduce the gradients of a stage over the replicas
  Optimizer,        ///< the rank's parameter update
  EvictActivation,  ///< a stashed activation moves to another rank; a transfer, never in a Program
  RestoreActivation,  ///< and back; never in a Program
  Gap,                ///< time the runtime spends between two operations; never in a Program
};

/// How the runtime treats a communication cell. Ops in one cell share it.
enum class Issue : std::uint8_t {
  Plain,  ///< one operation of the list
  Post,   ///< the operations of the cell are issued together as one batch
  Wait,   ///< the rank blocks until the operations of the cell are complete
};

/// One operation of a rank. A *cell* is a run of ops joined to their next: an overlapped
/// forward/backward pair, or a batch of sends and receives. A cell is one unit of program order.
struct Op {
  OpKind kind = OpKind::Forward;
  Issue issue = Issue::Plain;
  bool joined = false;  ///< the next op of the list belongs to the same cell
  Stage stage;
  Microbatch microbatch;  ///< −1 for Unshard, Reshard, ReduceGrad and Optimizer

  bool operator==(const Op&) const = default;
};

constexpr bool is_forward(OpKind kind) { return kind == OpKind::Forward; }
/// The gradient that the previous stage waits for.
constexpr bool produces_input_gradient(OpKind kind) {
  return kind == OpKind::BackwardFull || kind == OpKind::BackwardInput;
}
constexpr bool is_compute(OpKind kind) { return kind <= OpKind::BackwardWeight; }
constexpr bool is_send(OpKind kind) {
  return kind == OpKind::SendForward || kind == OpKind::SendBackward;
}
constexpr bool is_receive(OpKind kind) {
  return kind == OpKind::ReceiveForward || kind == OpKind::ReceiveBackward;
}

/// An activation on its way to the rank that keeps it for another, or back.
constexpr bool is_exchange(OpKind kind) {
  return kind == OpKind::EvictActivation || kind == OpKind::RestoreActivation;
}

/// Which rank holds a stage. Bidirectional schedules place a stage once per direction and the
/// microbatch decides which copy computes it; every other schedule has one direction.
struct Placement {
  int stages = 0;
  std::vector<Rank> rank_of;               ///< [direction · stages + stage]
  std::vector<std::uint8_t> direction_of;  ///< per microbatch; empty when there is one direction

  int directions() const { return stages == 0 ? 0 : static_cast<int>(rank_of.size()) / stages; }
  Rank rank(Stage stage, Microbatch microbatch) const {
    const std::size_t direction =
        direction_of.empty() || microbatch.value < 0 ? 0 : direction_of[microbatch.at()];
    return rank_of[direction * static_cast<std::size_t>(stages) + stage.at()];
  }
  bool operator==(const Placement&) const = default;
};

/// Stage s on rank s mod P.
Placement loop_placement(const Shape& shape);
/// Chunk k runs up the ranks when k is even and down when it is odd; with two chunks this is a V.
Placement zigzag_placement(const Shape& shape);

/// Microbatches cut along the sequence into units that are scheduled on their own: shares of a
/// microbatch's seconds and bytes, one per cut, each list adding up to 1. Empty: whole
/// microbatches.
struct SequenceCuts {
  std::vector<double> seconds;
  std::vector<double> bytes;

  int count() const { return seconds.empty() ? 1 : static_cast<int>(seconds.size()); }
  bool operator==(const SequenceCuts&) const = default;
};

/// Which weights the forward of a microbatch uses when a program spans several updates. Update
/// group g is the g-th of the equal runs of microbatches between updates; version n of the weights
/// has seen n groups.
enum class WeightRule : std::uint8_t {
  Flush,           ///< group g uses version g: nothing of it starts before group g−1 is done
  Newest,          ///< the newest version of the stage; the backward uses the same (stashing)
  OneBatchBehind,  ///< group g uses version max(0, g−1): two versions are enough
};

/// An activation that another rank keeps between its forward and its backward. It leaves when the
/// forward has ended and comes back when the backward of `restore_after` on the same stage has.
struct ActivationExchange {
  Stage stage;
  Microbatch microbatch;
  Rank host;
  Microbatch restore_after;

  bool operator==(const ActivationExchange&) const = default;
};

/// A schedule: what each rank does, in order. Everything else follows from dependencies.
///
/// `shape.microbatches` counts the units of the lists. With cuts, unit u is cut u mod count of
/// microbatch u div count; a program of several steps numbers on from one step to the next.
struct Program {
  Shape shape;
  Placement placement;
  std::vector<std::vector<Op>> ranks;  ///< [rank][position]
  SequenceCuts cuts;
  int steps = 1;    ///< training steps the program spans, all with the same number of microbatches
  int updates = 1;  ///< weight updates in it, evenly over its microbatches
  WeightRule weights = WeightRule::Flush;
  std::vector<ActivationExchange> exchanges;

  /// Whole microbatches of one training step: what a scenario calls its microbatches.
  int microbatches_per_step() const { return shape.microbatches / (cuts.count() * steps); }
  bool operator==(const Program&) const = default;
};

/// A broken rule of a schedule and where it is broken.
struct Violation {
  std::string message;
  Rank rank{-1};               ///< whose list is wrong; −1: the program as a whole
  std::int32_t position = -1;  ///< index into that list; −1: something is missing from it

  bool operator==(const Violation&) const = default;
};

/// Every violation of the rules of a schedule: each (stage, microbatch) forward once and backward
/// once (whole, or input and weight part, or not at all when nothing has a backward), on the rank
/// of its stage, forward before backward before weight gradient. Where sends or receives are spelt
/// out, every message between two ranks is sent once and received once, sent after it is computed
/// and received before it is used. Cross-rank deadlock is found by the task graph. O(operations).
/// At most `kMaxReported` are listed, then their number.
std::vector<Violation> violations(const Program& program);
/// The same as diagnostics (infeasible), for programs that come from no file.
Diagnostics check(const Program& program);
inline constexpr std::size_t kMaxReported = 100;

bool has_backward(const Program& program);
/// Some backward is split into input and weight part.
bool has_split_backward(const Program& program);
/// Sends, receives or collectives are spelt out.
bool has_communication(const Program& program);

/// `F`, `B`, `I`, `W`, `SEND_F` …: PyTorch's word for an operation.
std::string_view op_word(OpKind kind);
/// `3F7`, `0SEND_B2`, `1UNSHARD`: PyTorch's text of one operation.
std::string op_text(const Op& op);
/// Text of the cell that begins at `position`: `3F7`, `(0F8;7B4)OVERLAP_F_B`, `post(…;…)`,
/// `wait(…)`.
std::string cell_text(const std::vector<Op>& ops, std::size_t position);
/// `24 microbatches`, `24 microbatches in 4 cuts each`, `24 microbatches a step, 4 steps`.
std::string microbatches_text(const Program& program);
/// Number of ops in the cell that begins at `position`.
std::size_t cell_size(const std::vector<Op>& ops, std::size_t position);

}  // namespace pipecast

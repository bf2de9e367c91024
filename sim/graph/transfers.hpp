#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/model/program.hpp"

namespace pipecast {

/// When a transfer may start and who waits for it; expressed as edges, so both evaluators obey it.
///
/// A program may spell its sends and receives out (a lowered list). Each cell of sends and receives
/// is then one entry of its rank's communication queue, and the policy says what the cells mean:
///
// clang-format off
/// | cell    | Overlapped | Fifo            | Blocking                        | Posted            |
/// |---------|------------|-----------------|---------------------------------|-------------------|
/// | plain   | ignored    | joins the queue | joins it, the rank waits        | active from here  |
/// | post(…) | ignored    | joins the queue | joins it when the rank is here  | active from here  |
/// | wait(…) | ignored    | ignored         | the rank waits                  | the rank waits    |
// clang-format on
///
/// In a queue (Fifo, Blocking) an entry is active when the one before it is complete, and complete
/// when all its transfers are. A transfer runs when its producer has ended and it is active on both
/// ends. Its consumer always waits for it. Unshard, Reshard, ReduceGrad cost nothing and order
/// nothing. A program without sends and receives is lowered first: Fifo and Posted by
/// `lower_pytorch_send_receive`, Blocking by `lower_batched`.
enum class TransferPolicy : std::uint8_t {
  Overlapped,  ///< starts when its producer ends; only its consumer waits
  Fifo,        ///< one communication stream per rank, in program order, both ends at the head
               ///< (head-of-line blocking); compute never waits for a send
  Blocking,    ///< issued in the framework's batches; the rank's compute waits for the whole batch
  Posted,      ///< as Blocking, but a transfer is active as soon as both ends have posted it,
               ///< whatever was posted before (unbatched isend/irecv)
};

/// The word of a scenario file: `overlapped`, `fifo`, `blocking`, `posted`.
constexpr std::string_view policy_name(TransferPolicy policy) {
  switch (policy) {
    case TransferPolicy::Overlapped:
      return "overlapped";
    case TransferPolicy::Fifo:
      return "fifo";
    case TransferPolicy::Blocking:
      return "blocking";
    case TransferPolicy::Posted:
      return "posted";
  }
  return "?";
}

/// Some send or receive is spelt out.
bool has_transfers(const Program& program);

/// The program with its compute cells only.
Program without_communication(const Program& program);

/// Every violation of the rules of spelt-out transfers: a result that another rank needs is sent
/// once, after its producer, and received once, before its consumer, each on its own rank; what is
/// waited for was posted. O(operations). At most `kMaxReported` are listed.
Diagnostics check_transfers(const Program& program);

/// Two ranks that list the messages of one direction in different orders: when messages are matched
/// by order, the wrong ones meet.
struct OrderMismatch {
  Rank sender;
  Rank receiver;
  Op sent;      ///< the first send out of step
  Op received;  ///< what the receiver expects at that place

  bool operator==(const OrderMismatch&) const = default;
};

/// One entry per ordered pair of ranks whose sends and receives differ in order, sorted by pair.
/// Precondition: check_transfers() found nothing. O(operations · log operations).
std::vector<OrderMismatch> order_mismatches(const Program& program);

/// PyTorch's `_add_send_recv`: rounds over the ranks, one cell per rank and turn; a cell is taken
/// when its inputs have been; the send follows its producer and the receive is put at the end of
/// the receiver's list at that moment. Matches per pair and never deadlocks. O(operations + ranks ·
/// rounds). Error: the compute order itself can never finish.
Result<Program> lower_pytorch_send_receive(const Program& program);

enum class PytorchVersion : std::uint8_t {
  Main,  ///< 00722e64
  V2_8,  ///< no REDUCE_GRAD; stages that are gathered at the end stay so
};

/// PyTorch's whole lowering of a compute-only schedule: unshard three stages ahead and reshard what
/// is not needed, reduce gradients after a stage's last backward, then sends and receives. Cells
/// that do nothing take a turn, so receives stand elsewhere than `lower_pytorch_send_receive` puts
/// them. O(operations + ranks · rounds). Error: the compute order itself can never finish.
Result<Program> lower_pytorch(const Program& program, PytorchVersion version);

/// The steps of PyTorch's ScheduleGPipe and Schedule1F1B with their batches of sends and receives.
/// Error: another compute order. O(operations).
Result<Program> lower_pytorch_class_loop(const Program& program);

/// Which of Megatron-Core's communication modes; all issue the same compute order.
enum class MegatronMode : std::uint8_t {
  Sync,          ///< `overlap_p2p_comm` off: one blocking batch after each pass
  Overlap,       ///< on: posted in the steady state, blocking in warm-up and cool-down
  OverlapFlush,  ///< `overlap_p2p_comm_warmup_flush`: posted throughout
};

/// Megatron-Core's loops over 1F1B, interleaved 1F1B, combined 1F1B (Overlap, OverlapFlush) and
/// forward passes only. Error: another compute order, or a mode Megatron refuses. O(operations).
Result<Program> lower_megatron(const Program& program, MegatronMode mode);

/// Blocking batches for any schedule, in the manner of Megatron's: at most one batch between two
/// cells of a rank, posted and waited there. Receives stand just before their consumers; where that
/// would deadlock or mismatch, every transfer stands instead at the moment its producer ends in an
/// eager run with F = I = W = 1, B = 2, which never does. O(operations · log operations).
/// Error: the compute order itself can never finish.
Result<Program> lower_batched(const Program& program);

/// DeepSpeed's steps as a list; its sends and receives block one by one. The steps themselves are
/// in transfers_deepspeed.hpp. Error: another compute order than 1F1B's or forward-only's.
Result<Program> lower_deepspeed(const Program& program);

/// Zero-bubble's pass: a dry run in which every pass costs the same says when a message leaves; its
/// receive stands before the first cell that ends later, never passing a send. Neighbouring sends
/// and receives are fused by that runtime. O(operations · log operations). Error: the compute order
/// itself can never finish.
Result<Program> lower_zero_bubble(const Program& program);

/// The step of DualPipe and DualPipeV: everything that is due goes in one blocking batch before the
/// next compute. Error: another compute order.
Result<Program> lower_dualpipe(const Program& program);

/// A row of the registry of lowerings: Program → the same program with its communication spelt out.
/// What was spelt out before is replaced.
struct LoweringInfo {
  std::string_view name;
  std::string_view summary;     ///< one line
  std::string_view provenance;  ///< whose code the list is
  Result<Program> (*lower)(const Program&) = nullptr;
};

/// Every lowering we know.
std::vector<LoweringInfo> builtin_lowerings();

const LoweringInfo* find_lowering(std::span<const LoweringInfo> lowerings, std::string_view name);

}  // namespace pipecast

#pragma once
#include <cstdint>

#include "sim/base/diagnostic.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/program.hpp"
#include "sim/model/workload.hpp"

/// Programs from programs: with these, the whole backward of any schedule can be split and
/// improved.
namespace pipecast {

/// An input gradient directly followed by its own weight gradient becomes one whole backward, as
/// PyTorch's `_merge_bw` does. Cells of several operations stay as they are. O(operations).
Program merge_backward(const Program& program);

/// Every whole backward becomes its input gradient and, directly behind, its weight gradient.
/// Overlapped pairs stay whole. merge_backward() undoes it. O(operations).
Program split_backward(const Program& program);

/// What a rank may hold at any moment.
struct ActivationLimit {
  enum class Unit : std::uint8_t {
    Activations,  ///< (stage, microbatch) activations, released by the weight gradient
    HeldBytes,    ///< the workload's bytes, released in part by the input gradient
  };
  Unit unit = Unit::Activations;
  double amount = 0;
};

/// Weight gradients move to where a rank would otherwise wait: everything else keeps its order, and
/// a pending weight gradient (the oldest first) runs when it fits whole into a wait, when the next
/// forward would go over the limit, or at the end. A message between ranks takes `delay`.
///
/// Never longer than the program itself: where the rule costs time (a wait too short for a weight
/// gradient is lost to it), the program comes back as it was. Infeasible when a forward does not
/// fit although no weight gradient is pending, or when the program cannot finish. O(operations).
Result<Program> delay_weight_gradient(const Program& program, const Workload& workload,
                                      Seconds delay, ActivationLimit limit);

}  // namespace pipecast

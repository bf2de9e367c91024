#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/model/program.hpp"

namespace pipecast {

/// Seconds of one stage (chunk) for one microbatch. A full backward lasts the sum of its halves.
struct StageCost {
  Seconds forward;
  Seconds backward_input;
  Seconds backward_weight;

  bool operator==(const StageCost&) const = default;
};

/// Bytes of one stage (chunk). Activations and messages are per microbatch.
struct StageBytes {
  Bytes held_by_forward;             ///< activation kept from the forward to the backward
  Bytes released_by_backward_input;  ///< the part a split backward frees at I; W frees the rest
  Bytes message_forward;             ///< activation sent to the next stage
  Bytes message_backward;            ///< gradient sent to the previous stage
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;

  bool operator==(const StageBytes&) const = default;
};

/// What a stage exchanges with its replicas once per step, and its update. Bytes are of a device,
/// before ZeRO cuts anything.
struct StageSync {
  Bytes gradients;          ///< added up over the devices that hold the same parameters
  Bytes parameters;         ///< gathered before their use when they are sharded
  Bytes expert_gradients;   ///< the part of `gradients` that belongs to experts
  Bytes expert_parameters;  ///< the part of `parameters` that belongs to experts
  Seconds optimizer;        ///< update of the device's share

  bool operator==(const StageSync&) const = default;
};

/// What every runtime adds: to an operation, between two operations of a rank, to a message's
/// latency.
struct Overheads {
  Seconds operation;
  Seconds gap;
  Seconds message;

  bool operator==(const Overheads&) const = default;
};

/// PyTorch computes nothing in stage 0's I and the whole backward in its W.
enum class FirstStageInputGradient : std::uint8_t { Full, Empty };

/// How long an overlapped forward/backward pair lasts.
struct OverlapCost {
  enum class Rule : std::uint8_t {
    Sum,    ///< both durations, one after the other
    Ratio,  ///< `value` × the sum
    Given,  ///< `value` seconds
  };
  Rule rule = Rule::Sum;
  double value = 0;

  bool operator==(const OverlapCost&) const = default;
};

/// What the stages take on devices of one accelerator of a mixed machine.
struct CostsOn {
  std::string accelerator;         ///< as the devices name it
  std::vector<StageCost> costs;    ///< as Workload::costs
  Seconds operation;               ///< more of overheads.operation than that says
  std::vector<Seconds> optimizer;  ///< [stage] in place of StageSync::optimizer

  bool operator==(const CostsOn&) const = default;
};

/// Costs of a model on a pipeline: seconds, bytes and messages, per stage and, where they differ,
/// per microbatch.
struct Workload {
  int stages = 1;
  int microbatches = 1;
  std::vector<StageCost> costs;   ///< [stage], or [stage · microbatches + microbatch]
  std::vector<StageBytes> bytes;  ///< [stage]
  std::vector<StageSync> sync;  ///< [stage]; empty: no gradients are exchanged, no update is timed
  bool backward_is_split =
      true;  ///< false: only the whole backward is known, it stands in backward_input
  Overheads overheads;
  FirstStageInputGradient first_stage_input_gradient = FirstStageInputGradient::Full;
  OverlapCost overlap;
  SequenceCuts
      cuts;  ///< those of the program it is fitted to: ops then name units, not microbatches

  std::vector<Seconds> stage_operation;  ///< [stage] more of overheads.operation, where stages are
                                         ///< on devices that need different ones; else empty
  std::vector<CostsOn> on;  ///< of a mixed machine whose costs were derived: by accelerator;
                            ///< `costs` are then those of the device that holds the stage in the
                            ///< replica that is shown

  bool varies_by_microbatch() const { return costs.size() > static_cast<std::size_t>(stages); }
  /// Of the whole microbatch that the unit belongs to; further steps repeat the microbatches.
  const StageCost& cost(Stage stage, Microbatch unit) const {
    if (!varies_by_microbatch()) return costs[stage.at()];
    const int microbatch = unit.value / cuts.count() % microbatches;
    return costs[stage.at() * static_cast<std::size_t>(microbatches) +
                 static_cast<std::size_t>(microbatch)];
  }
  /// Share of a microbatch's seconds and bytes that a unit has: 1 without cuts.
  double seconds_share(Microbatch unit) const { return share(cuts.seconds, unit); }
  double bytes_share(Microbatch unit) const { return share(cuts.bytes, unit); }
  bool operator==(const Workload&) const = default;

 private:
  static double share(const std::vector<double>& shares, Microbatch unit) {
    return shares.empty() ? 1.0 : shares[unit.at() % shares.size()];
  }
};

/// The workload as the program's units see it. Both evaluators and all reports take it so.
Workload fitted(const Workload& workload, const Program& program);

/// The workload with the seconds that every stage takes on devices of this accelerator: itself,
/// unless the machine is mixed.
Workload on_accelerator(const Workload& workload, std::string_view accelerator);

/// The workload with the seconds of each stage on the accelerator of the rank that holds it; of a
/// stage that several hold, of the first direction's. `accelerators` are those of the ranks.
Workload settled(const Workload& workload, const Placement& placement,
                 std::span<const std::string> accelerators);

/// Every stage costs the same: forward, backward_input and backward_weight seconds, no bytes.
Workload uniform_workload(const Shape& shape, StageCost cost);

/// Sizes agree, nothing is negative or not finite, a release is at most what was held.
Diagnostics check(const Workload& workload);
/// The workload has the stages, cuts and (per step) microbatches of the program, and its backward
/// is split if the program's is.
Diagnostics check(const Workload& workload, const Program& program);

/// Seconds of one compute operation, without overheads. O(1).
Seconds duration(const Workload& workload, const Op& op);
/// Seconds of a compute cell: one operation, or an overlapped pair under the workload's rule, plus
/// the operation overhead once per cell.
Seconds cell_duration(const Workload& workload, std::span<const Op> cell);

}  // namespace pipecast

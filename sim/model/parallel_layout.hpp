#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/parallel_dimension.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

/// Activations kept for the backward, and what is computed again.
enum class Recompute : std::uint8_t {
  None,
  Selective,  ///< the attention core only
  Full,       ///< whole layers; only their inputs are kept
  Alternate,  ///< every second product of a layer and what lies between products; the attention
              ///< core is kept (torchtitan's selective checkpoints per operator)
};

/// Dimensions from the one whose ranks are neighbours to the one whose ranks are farthest apart.
using DimensionOrder = std::array<ParallelDimension, 5>;
/// Megatron's `tp-cp-ep-dp-pp`.
inline constexpr DimensionOrder kMegatronOrder{
    ParallelDimension::Tensor, ParallelDimension::Context, ParallelDimension::Expert,
    ParallelDimension::Data, ParallelDimension::Pipeline};

/// How gradients are added up over the replicas.
struct GradientReduction {
  bool overlap = true;  ///< each chunk as soon as its last backward allows; else all at the end
  Bytes bucket;         ///< largest piece of a chunk's gradient that is reduced at once; 0: all
  bool every_microbatch = false;  ///< reduce after each backward instead of once per step
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Automatic;

  bool operator==(const GradientReduction&) const = default;
};

/// How sharded parameters come together before they are used.
struct ParameterGather {
  bool overlap = true;  ///< while the operation before is still computing; else after it
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Automatic;
  bool every_microbatch = false;  ///< before each forward and backward, and given up after it; else
                                  ///< once per step, and kept

  bool operator==(const ParameterGather&) const = default;
};

/// How the exchanges inside operations (Workload::inside) are simulated.
struct GroupTraffic {
  enum class As : std::uint8_t {
    Automatic,   ///< as flows, unless those provably change nothing
    Flows,       ///< on the links, where they contend with everything else
    ClosedForm,  ///< as seconds of the operation only
  };
  As as = As::Automatic;
  int pieces = 1;  ///< an operation computes and exchanges by turns, as often as this

  bool operator==(const GroupTraffic&) const = default;
};

/// More pieces of an operation than this are refused.
inline constexpr int kMaxGroupPieces = 256;

/// Which of the replicas are simulated.
enum class Replicas : std::uint8_t {
  Symmetric,  ///< one of every set of replicas that provably behave the same
  All,
};

/// The product of positive numbers, or the largest int where it is larger: degrees come from files.
inline int bounded_product(std::initializer_list<int> factors) {
  constexpr std::int64_t kLargest = std::numeric_limits<int>::max();
  std::int64_t product = 1;
  for (const int factor : factors) product = std::min(product * factor, kLargest);
  return static_cast<int>(product);
}

/// How a model is spread over devices. Degrees multiply to the number of devices, except `expert`,
/// which reuses data- and context-parallel devices.
struct ParallelLayout {
  int tensor = 1;
  bool sequence_parallel =
      false;  ///< norms and dropouts cut along the sequence over the tensor group
  int pipeline = 1;
  int chunks = 1;
  int context = 1;
  int data = 1;
  int expert = 1;
  int expert_tensor = 1;  ///< tensor degree inside an expert
  int zero = 0;           ///< ZeRO stage: 1 shards optimizer, 2 gradients, 3 parameters over the
                          ///< devices that share a gradient
  int sequence = 2048;    ///< tokens of one sequence, before context parallelism cuts it
  int microbatch_size = 1;
  int global_batch = 1;  ///< sequences
  Recompute recompute = Recompute::None;
  int recompute_layers = -1;  ///< with Full: layers per stage that are recomputed; −1: all
  DimensionOrder order = kMegatronOrder;
  GradientReduction gradient_reduction;
  ParameterGather parameter_gather;
  GroupTraffic group_traffic;
  Replicas replicas = Replicas::Symmetric;

  int stages() const { return bounded_product({pipeline, chunks}); }
  int devices() const { return bounded_product({tensor, pipeline, context, data}); }
  /// Devices that hold the same parameters and add up their gradients.
  int gradient_group() const { return bounded_product({data, context}); }
  /// The same for the parameters of experts.
  int expert_gradient_group() const {
    return bounded_product({tensor, context, data}) / bounded_product({expert, expert_tensor});
  }
  /// Whether a device gathers parameters for each use and holds only its share in between.
  bool gathers_each_use() const { return zero >= 3 && parameter_gather.every_microbatch; }
  bool operator==(const ParallelLayout&) const = default;
};

/// The largest number of devices a layout may ask for.
inline constexpr int kMaxLayoutDevices = 1 << 20;

/// How many ways the layout cuts along a dimension.
int degree(const ParallelLayout& layout, ParallelDimension dimension);
/// `tp-cp-ep-dp-pp`.
std::string order_text(const DimensionOrder& order);

/// Degrees are positive, the product is bounded, and the experts' group divides the devices of a
/// stage. Whether they fit a model is asked in sim/cost.
Diagnostics check(const ParallelLayout& layout);

/// The workload with the parameters, gradients and optimizer state that one device keeps under the
/// layout's ZeRO stage; what it sends to its replicas (`Workload::sync`) stays whole. Parameters
/// that are gathered once per step are kept whole.
Workload sharded(Workload workload, const ParallelLayout& layout);

}  // namespace pipecast

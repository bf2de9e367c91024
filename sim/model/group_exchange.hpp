#pragma once
#include <span>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/parallel_dimension.hpp"

namespace pipecast {

struct Op;
struct Workload;

/// What a pass of a stage exchanges inside a group of its devices, per microbatch, all its
/// collectives together. The exposed seconds are part of the pass's own.
struct PassExchange {
  Bytes bytes;    ///< added up, each collective's as nccl-tests counts them
  Seconds alone;  ///< when nothing else uses the links; 0: as long as the bytes take there
  Seconds
      exposed;  ///< of `alone`: what lengthens the pass; where `alone` is 0, what `behind` leaves
  Seconds behind;  ///< computation of the pass that it may run beside

  PassExchange& operator+=(const PassExchange& other);
  friend PassExchange operator*(const PassExchange& pass, double factor);
  bool operator==(const PassExchange&) const = default;
};

/// The exchanges of a stage inside one kind of group.
struct GroupExchange {
  ParallelDimension group = ParallelDimension::Tensor;  ///< Tensor, Context or Expert
  Collective collective = Collective::AllGather;
  PassExchange forward;
  PassExchange backward_input;  ///< with what is computed again before it
  PassExchange backward_weight;

  bool operator==(const GroupExchange&) const = default;
};

/// What a compute cell exchanges inside one kind of group.
struct CellExchange {
  ParallelDimension group = ParallelDimension::Tensor;
  Collective collective = Collective::AllGather;
  PassExchange pass;
};

/// The exchanges of a cell, in the order of its stage's; of an overlapped pair those of both
/// operations, and what the pair is faster than its operations one after the other hides of the
/// exposed seconds. Empty when it exchanges nothing. Precondition: the workload fits the program.
std::vector<CellExchange> cell_exchanges(const Workload& workload, std::span<const Op> cell);

/// Sizes agree, nothing is negative or not finite, the exposed part is at most the whole, and only
/// tensor, context and expert groups exchange inside operations.
Diagnostics check_group_exchanges(const Workload& workload);

}  // namespace pipecast

#pragma once
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/collective_time.hpp"
#include "sim/model/flow.hpp"
#include "sim/model/platform.hpp"

namespace pipecast {

/// What is asked for. `bytes` is the size nccl-tests prints: the buffer of a device for all-reduce,
/// all-to-all and broadcast, the whole input for reduce-scatter, the whole output for all-gather.
/// The first device of the group is the root of a broadcast.
struct CollectiveRequest {
  Collective kind = Collective::AllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Automatic;
  std::vector<DeviceId> group;
  Bytes bytes;
};

/// The flows of a collective and what it decided on. The collective ends when all flows have.
struct CollectivePlan {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Ring;
  std::vector<Flow> flows;
};

/// More flows than this are refused before memory is taken for them.
inline constexpr std::size_t kMaxCollectiveFlows = std::size_t{4} << 20;

/// A collective as flows on the links of the platform, so that it contends with everything else.
///
/// Pipelined algorithms are one flow per edge with all the bytes the edge carries: for ring
/// all-reduce 2 (n−1)/n × bytes, for tree all-reduce bytes/2 in each direction of both trees, in
/// the switch bytes. Before the bytes flow come the hops of the algorithm, 2 (n−1) for ring
/// all-reduce, each with the latency of its route; or, where the platform's collectives are fitted,
/// overhead and inflation of NCCL's protocols (see docs/platforms.md). All-to-all goes pair by
/// pair, each device's messages inside its node one after the other (on a mesh all at once), and
/// beside them those to other nodes, in an order in which no two meet on a card.
/// O(flows). Errors: fewer than two devices, a device twice or unknown, an algorithm that the
/// collective or the platform does not have, no route.
Result<CollectivePlan> plan_collective(const CollectiveRequest& request, const Platform& platform);

/// How long that collective takes on an idle fabric, for every size; `request.bytes` is not read.
/// It is what the longest path through the flows of plan_collective() takes, but for trees, whose
/// flows share ports. O(flows). Errors as above.
Result<CollectiveTime> collective_time(const CollectiveRequest& request, const Platform& platform);

/// Bus bandwidth ÷ (bytes ÷ time), as nccl-tests defines it: 2 (n−1)/n for all-reduce, (n−1)/n for
/// reduce-scatter, all-gather and all-to-all, 1 for broadcast.
double bus_factor(Collective kind, int devices);

}  // namespace pipecast

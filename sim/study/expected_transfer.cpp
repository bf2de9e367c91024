#include "sim/study/expected_transfer.hpp"

#include <algorithm>

namespace pipecast {
namespace {

Seconds one_way(const Platform& platform, DeviceId from, DeviceId to, Bytes message) {
  if (from == to) return {};
  const Result<Route> way = route(platform, from, to);
  return way ? way->latency + message / way->bandwidth : Seconds{};
}

}  // namespace

Seconds expected_transfer(const Platform& platform, std::span<const DeviceId> device_of_rank,
                          const Workload& workload) {
  Bytes forward;
  Bytes backward;
  for (const StageBytes& stage : workload.bytes) {
    forward = std::max(forward, stage.message_forward);
    backward = std::max(backward, stage.message_backward);
  }
  Seconds longest;
  for (std::size_t rank = 1; rank < device_of_rank.size(); ++rank) {
    const DeviceId before = device_of_rank[rank - 1];
    const DeviceId after = device_of_rank[rank];
    longest = std::max({longest, one_way(platform, before, after, forward),
                        one_way(platform, after, before, backward)});
  }
  return longest;
}

}  // namespace pipecast

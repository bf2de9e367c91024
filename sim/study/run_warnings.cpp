#include "sim/study/run_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pipecast {

std::vector<std::string> transfer_warnings(const Program& program, TransferPolicy policy) {
  if (policy != TransferPolicy::Overlapped || !has_communication(program)) return {};
  return {
      "the schedule's own order of sends and receives is not used with transfers: overlapped; "
      "posted, fifo and blocking follow it"};
}

std::vector<std::string> overload_warnings(const Summary& summary, const Platform& platform) {
  const auto fullest = std::max_element(
      summary.links.begin(), summary.links.end(),
      [](const LinkSummary& a, const LinkSummary& b) { return a.utilization < b.utilization; });
  if (fullest == summary.links.end() || fullest->utilization <= 1) return {};
  return {
      fmt::format("{} would carry {:.0f} % of what it can: the longest path knows no contention, "
                  "the engine simgrid does",
                  platform.links[fullest->link.at()].name, 100 * fullest->utilization)};
}

std::vector<std::string> unlike_replicas(const Platform& platform, const ReplicaDevices& devices) {
  const auto accelerator = [&](int replica, int rank) -> const std::string& {
    return platform.devices[devices.device(replica, rank).at()].accelerator;
  };
  for (int replica = 1; replica < devices.replicas(); ++replica)
    for (int rank = 0; rank < devices.ranks(); ++rank)
      if (accelerator(replica, rank) != accelerator(0, rank))
        return {fmt::format(
            "replicas are on several accelerators (rank {} is on {} in the replica that the tables "
            "show, on {} in another); the step ends when the slowest has",
            rank, accelerator(0, rank), accelerator(replica, rank))};
  return {};
}

}  // namespace pipecast

#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/graph/task.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/program.hpp"
#include "sim/model/replica_devices.hpp"
#include "sim/model/timeline.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

struct TaskGraph;

/// One rank of a run. idle_s is the sum, in the order of the members, of the four parts after it;
/// docs/model-results.md defines them, idle.hpp computes them.
struct RankSummary {
  Rank rank;
  DeviceId device;
  double busy_s = 0;
  double idle_s = 0;                  ///< makespan − busy, computed as the sum of its parts
  double waiting_for_transfer_s = 0;  ///< idle while the message that ends the wait was on its way
  double warmup_idle_s = 0;           ///< before the rank's first backward, transfers excluded
  double steady_idle_s = 0;
  double cooldown_idle_s = 0;        ///< after the rank's last forward, transfers excluded
  double gap_s = 0;                  ///< of warm-up, steady and cool-down: the runtime's pauses
  double span_s = 0;                 ///< end of last − start of first operation
  double exposed_collectives_s = 0;  ///< from its last operation to the end of its last gradient
                                     ///< reduction or parameter gather, updates excluded
  double optimizer_s = 0;            ///< its update
  Bytes peak_activation;
  int peak_in_flight = 0;                ///< microbatch-chunks alive, released by B or W
  int peak_in_flight_free_at_input = 0;  ///< the same, released by B or I
  Bytes static_memory;       ///< parameters, gradients, optimizer of all chunks of the rank
  int weight_versions = 1;   ///< copies of its weights that the rank holds at once
  int weight_staleness = 0;  ///< updates by which its gradients trail those of a flush
  Bytes peak_memory;
  Bytes capacity;  ///< 0 when the platform does not say
  bool fits = true;

  bool operator==(const RankSummary&) const = default;
};

/// One copy of a stage; bidirectional schedules have one per direction. Seconds are the mean
/// over the copy's microbatches, as the workload gives them: no slowdown, overhead or overlap.
/// Where the workload knows only the whole backward, it stands in backward_input_s.
struct StageSummary {
  Stage stage;
  Rank rank;
  double forward_s = 0;
  double backward_input_s = 0;
  double backward_weight_s = 0;
  Bytes peak_activation;
  int peak_in_flight = 0;  ///< microbatches alive, released by B or W

  bool operator==(const StageSummary&) const = default;
};

struct LinkSummary {
  LinkId link;
  double bytes = 0;
  double busy_s = 0;       ///< time during which at least one transfer used it
  double utilization = 0;  ///< bytes ÷ (bandwidth × makespan)

  bool operator==(const LinkSummary&) const = default;
};

/// Everything a report needs, nothing formatted.
struct Summary {
  double makespan_s = 0;
  double ideal_s = 0;          ///< largest compute total of a rank
  double bubble_fraction = 0;  ///< idle time of all ranks ÷ (ranks × makespan)
  double bubble_overhead = 0;  ///< makespan ÷ ideal − 1
  double max_rank_span_s = 0;
  double span_bubble_fraction = 0;  ///< 1 − ideal ÷ max_rank_span
  int steps = 1;                    ///< training steps that the program spans
  double step_s = 0;  ///< makespan; of several steps the mean time from one's end to the next's
  std::int64_t tasks = 0;
  std::uint64_t digest = 0;
  std::vector<RankSummary> ranks;
  std::vector<StageSummary> stages;  ///< as Placement::rank_of: by direction, then stage
  std::vector<LinkSummary> links;    ///< only links that carried something

  bool operator==(const Summary&) const = default;
};

/// Everything interface.md §4 asks of a run. Busy time is measured on the timeline, ideal_s adds up
/// the tasks' seconds. Precondition: the graph was built from the program, workload and platform,
/// and the timeline is one of its evaluators'. O(tasks + edges), and a sort of the transfers.
Summary summarise(const Program& program, const Workload& workload, const Platform& platform,
                  const TaskGraph& graph, const Timeline& timeline);

/// [rank] the least memory of the devices that compute it in any replica.
std::vector<Bytes> rank_capacities(const Platform& platform, const ReplicaDevices& devices);

/// The summary with these capacities of its ranks: a step fits where every replica does.
void judge_memory(Summary& summary, std::span<const Bytes> capacities);

}  // namespace pipecast

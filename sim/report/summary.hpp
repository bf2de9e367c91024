#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/graph/task.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/program.hpp"
#include "sim/model/timeline.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

/// One rank of a run. The four idle parts add up to idle_s exactly as defined in docs/model.md:
/// each idle stretch is cut at the arrival of the data its next operation waited for.
struct RankSummary {
  Rank rank;
  DeviceId device;
  double busy_s = 0;
  double idle_s = 0;                  ///< makespan − busy
  double waiting_for_transfer_s = 0;  ///< idle while the message that ends the wait was on its way
  double warmup_idle_s = 0;           ///< before the rank's first backward, transfers excluded
  double steady_idle_s = 0;
  double cooldown_idle_s = 0;  ///< after the rank's last forward, transfers excluded
  double span_s = 0;           ///< end of last − start of first operation
  Bytes peak_activation;
  int peak_in_flight = 0;                ///< microbatch-chunks alive, released by B or W
  int peak_in_flight_free_at_input = 0;  ///< the same, released by B or I
  Bytes static_memory;  ///< parameters, gradients, optimizer of all chunks of the rank
  Bytes peak_memory;
  Bytes capacity;  ///< 0 when the platform does not say
  bool fits = true;

  bool operator==(const RankSummary&) const = default;
};

struct StageSummary {
  Stage stage;
  Rank rank;
  double forward_s = 0;
  double backward_input_s = 0;
  double backward_weight_s = 0;
  Bytes peak_activation;

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
  std::int64_t tasks = 0;
  std::uint64_t digest = 0;
  std::vector<RankSummary> ranks;
  std::vector<StageSummary> stages;
  std::vector<LinkSummary> links;  ///< only links that carried something

  bool operator==(const Summary&) const = default;
};

}  // namespace pipecast

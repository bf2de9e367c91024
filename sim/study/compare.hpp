#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/read/scenario.hpp"
#include "sim/report/footprint_groups.hpp"
#include "sim/report/run_view.hpp"
#include "sim/study/simulate.hpp"

namespace pipecast {

/// What to compare. An empty list means every registered schedule.
struct CompareOptions {
  std::vector<std::string> schedules;
  Engine engine = Engine::Simgrid;
  /// Only rows whose peak activation fits on every rank; schedules that search under a memory limit
  /// get it.
  std::optional<Bytes> activation_limit;
  /// Called with every run that becomes a row without a refusal, in registry order, before the next
  /// one is made: a report takes what it shows, and the run itself is let go.
  std::function<void(const RunView&)> on_run = {};
};

/// One schedule on the scenario's model and machine.
struct CompareRow {
  std::string schedule;
  Shape shape;
  std::string
      refused;  ///< why the schedule is not valid here; the figures below are then meaningless
  double step_s = 0;  ///< of one training step: asynchronous schedules span several
  double bubble_fraction = 0;
  double bubble_overhead = 0;
  double span_bubble_fraction = 0;
  std::vector<Bytes> peak_activation;  ///< per rank
  Bytes largest_peak_activation;
  int largest_in_flight = 0;  ///< chunk activations
  Bytes largest_static;       ///< weights, gradients and optimizer held by a rank, copies included
  int weight_copies = 1;      ///< copies of a stage held: directions × weight versions
  std::int64_t transfers = 0;
  bool fits = true;            ///< also where no capacity is known
  bool capacity_known = true;  ///< of every device
  double relative_step = 0;    ///< step ÷ step of 1f1b; 0 when 1f1b is not valid here
};

/// Unknown where nothing shows that it does not fit and a device does not say what it holds.
Fit fit_of(const CompareRow& row);

/// The scenario under several schedules, fastest first, refused ones last.
///
/// A schedule that cannot use the scenario's number of chunks gets its own default, and the model
/// is cut into that many stages (see repartition()); the model stays the same.
Result<std::vector<CompareRow>> compare(const Scenario& scenario, const ReadContext& context,
                                        const CompareOptions& options);

}  // namespace pipecast

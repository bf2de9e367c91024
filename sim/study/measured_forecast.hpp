#pragma once
#include <string>

#include "sim/base/diagnostic.hpp"
#include "sim/study/measured_profile.hpp"
#include "sim/study/simulate.hpp"

namespace pipecast {

/// What a measured step is held against when it is not the profile's own prediction.
struct Forecast {
  std::string scenario;  ///< its name
  FinishedRun run;
  SourceSpan where;  ///< of the scenario's pipeline, for complaints
};

/// An order with costs on a machine where every message takes `delay_s`.
Result<FinishedRun> order_run(const MeasuredProfile& profile, const Workload& workload,
                              double delay_s, std::string name);

/// The forecast has the shape and, on every rank, the operations of the measured program, in
/// whatever order. What is wrong, with what was measured.
Diagnostics check_forecast(const Forecast& forecast, const Program& measured);

/// Where the forecast's order first differs from the measured one, as a sentence; empty: nowhere.
std::string order_difference(const Program& forecast, const Program& measured);

/// A run's computation as if it had been measured.
MeasuredStep step_of_run(const FinishedRun& run);

}  // namespace pipecast

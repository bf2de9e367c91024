#pragma once
#include <string>

#include "sim/report/timeline_text.hpp"

namespace pipecast {

/// Marks of a time axis: every `step_s` from 0, labelled in one unit.
struct TimeAxis {
  double step_s = 1;
  double unit_s = 1;  ///< seconds of a labelled 1
  std::string unit;   ///< `ms`; empty for ticks
  int decimals = 0;

  std::string label(double time_s) const;
};

/// Steps of 1, 2 or 5 times a power of ten, none shorter than `least_step_s`; the unit suits a step
/// of `makespan_s`.
TimeAxis choose_axis(double makespan_s, double least_step_s, TimeLabels labels);

}  // namespace pipecast

#include "sim/report/time_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pipecast {
namespace {

struct Unit {
  double seconds;
  const char* word;
};

Unit suitable_unit(double makespan_s) {
  for (const Unit unit : {Unit{1, "s"}, Unit{1e-3, "ms"}, Unit{1e-6, "us"}})
    if (makespan_s >= 2 * unit.seconds) return unit;
  return {1e-9, "ns"};
}

}  // namespace

std::string TimeAxis::label(double time_s) const {
  return fmt::format("{:.{}f}", time_s / unit_s, decimals);
}

TimeAxis choose_axis(double makespan_s, double least_step_s, TimeLabels labels) {
  const Unit unit = labels == TimeLabels::Ticks ? Unit{1, ""} : suitable_unit(makespan_s);
  TimeAxis axis;
  axis.unit_s = unit.seconds;
  axis.unit = unit.word;
  const double least = std::max(least_step_s, makespan_s * 1e-6) / unit.seconds;
  if (!(least > 0)) return axis;
  const double power = std::pow(10, std::floor(std::log10(least)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= least * (1 - 1e-9)) step = factor * power;
  axis.step_s = step * unit.seconds;
  axis.decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  return axis;
}

}  // namespace pipecast

#pragma once
#include <vector>

namespace pipecast {

/// What imperfect machines cost a step, and which ranks cause it.
struct Delays {
  /// [rank] seconds beyond the ordinary that its operations put on the path that decides the step's
  /// length; of several sampled steps the mean
  std::vector<double> blame_s;
  int samples = 0;  ///< steps with jitter; 0: none was asked for
  double least_s = 0;
  double median_s = 0;
  double p95_s = 0;  ///< the smallest time that at least 95 % of the steps kept
  double most_s = 0;

  bool operator==(const Delays&) const = default;
};

}  // namespace pipecast

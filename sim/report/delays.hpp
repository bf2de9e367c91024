#pragma once
#include <string>
#include <vector>

namespace pipecast {

/// What a degraded link puts on the path that decides the step's length.
struct LinkDelay {
  std::string link;
  double seconds = 0;

  bool operator==(const LinkDelay&) const = default;
};

/// What imperfect machines cost a step, and which ranks cause it.
struct Delays {
  /// [rank] seconds beyond the ordinary that its operations put on the path that decides the step's
  /// length; of several sampled steps the mean
  std::vector<double> blame_s;
  std::vector<LinkDelay> links;  ///< degraded ones that the path crosses, in the scenario's order
  double ordinary_s = 0;  ///< the step without imperfections; 0: not known. The step is longer by
                          ///< less than all blame: other paths are nearly as long
  double step_s = 0;      ///< with them, without jitter
  int samples = 0;        ///< steps with jitter; 0: none was asked for
  double least_s = 0;
  double median_s = 0;
  double p95_s = 0;  ///< the smallest time that at least 95 % of the steps kept
  double most_s = 0;

  bool operator==(const Delays&) const = default;
};

}  // namespace pipecast

#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pipecast {

/// A device on which every operation lasts `factor` times as long.
struct SlowDevice {
  int device = 0;
  double factor = 1;

  bool operator==(const SlowDevice&) const = default;
};

/// A pipeline rank whose operations last `factor` times as long, on the devices of all its
/// replicas: stages on another accelerator.
struct SlowRank {
  int rank = 0;
  double factor = 1;

  bool operator==(const SlowRank&) const = default;
};

/// A link that keeps `factor` of its bandwidth; 0: it is broken.
struct DegradedLink {
  std::string link;  ///< its name in the platform
  double factor = 1;

  bool operator==(const DegradedLink&) const = default;
};

/// How operations vary from one to the next. Each operation's seconds are multiplied by a factor
/// drawn for it: e^(sigma z) with z standard normal, whose median is 1, or one of a measured list.
struct Jitter {
  double sigma = 0;             ///< of the lognormal; 0 with an empty list: no jitter
  std::vector<double> factors;  ///< measured ÷ ordinary seconds; drawn evenly
  int samples = 100;            ///< steps simulated
  std::int64_t seed = 1;

  bool none() const { return sigma == 0 && factors.empty(); }
  bool operator==(const Jitter&) const = default;
};

/// What is wrong with a machine.
struct Imperfections {
  std::vector<SlowDevice> slow_devices;
  std::vector<DegradedLink> degraded_links;
  Jitter jitter;
  std::vector<SlowRank> slow_ranks = {};

  bool none() const {
    return slow_devices.empty() && slow_ranks.empty() && degraded_links.empty() && jitter.none();
  }
  bool operator==(const Imperfections&) const = default;
};

}  // namespace pipecast

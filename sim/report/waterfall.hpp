#pragma once
#include <string>
#include <vector>

#include "sim/report/run_view.hpp"

namespace pipecast {

struct WaterfallPart {
  std::string name;
  double seconds = 0;

  bool operator==(const WaterfallPart&) const = default;
};

/// From the ideal step to the predicted one: the first part is the compute time of the busiest
/// rank, the others what delays that rank, in the order warm-up, steady, cool-down, the runtime's
/// pauses, waiting for transfers; together they are the makespan. Ties go to the lowest rank.
struct Waterfall {
  Rank rank;
  std::vector<WaterfallPart> parts;
};
Waterfall waterfall(const RunView& run);

}  // namespace pipecast

#pragma once
#include <string>
#include <vector>

namespace pipecast {

/// A piece of a step's time.
struct WaterfallPart {
  std::string key;  ///< `ideal`, `matmul`, …: what scripts read
  double seconds = 0;
  std::string meaning;

  bool operator==(const WaterfallPart&) const = default;
};

/// A training step of a model: how fast, and what its time is made of.
struct StepEstimate {
  double step_s = 0;  ///< the sum of the waterfall's parts, in their order, to the last bit
  double tokens_per_s = 0;
  double tokens_per_s_per_device = 0;
  double model_flops_utilization = 0;     ///< of the 16-bit peak, nothing recomputed counted
  double hardware_flops_utilization = 0;  ///< what runs: recomputed work counted, the half of
                                          ///< attention that a causal kernel skips not
  bool half_attention = false;            ///< the model's FLOPs leave that half out, too
  double tflops_per_device = 0;           ///< model FLOPs
  double schedule_bubble = 0;             ///< bubble fraction were all stages alike, messages free
  int devices = 1;
  std::vector<WaterfallPart> waterfall;

  bool operator==(const StepEstimate&) const = default;
};

}  // namespace pipecast

#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/cost/inference.hpp"
#include "sim/read/model_shape.hpp"

namespace pipecast {

/// What a serving file says; docs/inference.md lists its keys.
struct ServingScenario {
  struct Request {
    double arrival_s = 0;
    int prompt_tokens = 1;
    int output_tokens = 1;

    bool operator==(const Request&) const = default;
  };

  std::string name;
  ModelShape model;
  ParallelLayout layout;  ///< tensor and pipeline
  ServingDevice device;
  std::string accelerator;  ///< catalogue id, or empty
  double weight_bytes = 2;
  double cache_bytes = 2;
  bool continuous = true;
  int groups = 0;  ///< as given, else the stages
  int batch = 1;
  int prefill_tokens = 8192;
  std::vector<Request> requests;
  int curve_context = 2048;
  std::vector<int> curve_batches;
  std::vector<std::string> warnings;  ///< what is not verified, not counted or taken by default

  bool operator==(const ServingScenario&) const = default;
};

inline constexpr int kMaxRequests = 1'000'000;

/// Text of a serving file → value, or every fault of it. Generated requests are the same on every
/// run for the same seed.
Result<ServingScenario> read_serving_scenario(std::string_view text, const std::string& file,
                                              std::span<const std::string> preset_folders);

}  // namespace pipecast

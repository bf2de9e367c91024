#pragma once
#include <iosfwd>
#include <optional>
#include <vector>

#include "sim/read/serving_scenario.hpp"
#include "sim/study/serving.hpp"

namespace pipecast {

/// A serving file carried out: decoding by batch size, and the request list when there is one.
struct ServingReport {
  ServingScenario scenario;
  ServingPlan plan;
  double capacity_tokens = 0;  ///< of the cache; 0: not limited
  std::vector<DecodePoint> curve;
  std::optional<ServingResult> served;
};

Result<ServingReport> serving_report(const ServingScenario& scenario);

void write_serving_text(const ServingReport& report, std::ostream& out);
/// `"format": "pipecast.serve/1"`.
void write_serving_json(const ServingReport& report, std::ostream& out);
/// One request a line: number, arrival, first token, end, prompt and output tokens, group.
void write_serving_csv(const ServingReport& report, std::ostream& out);

}  // namespace pipecast

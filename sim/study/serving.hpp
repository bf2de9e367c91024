#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/cost/inference.hpp"
#include "sim/model/program.hpp"
#include "sim/model/timeline.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

struct ServingRequest {
  double arrival_s = 0;
  int prompt_tokens = 1;
  int output_tokens = 1;

  bool operator==(const ServingRequest&) const = default;
};

enum class Batching : std::uint8_t {
  Static,     ///< a group takes new requests when all of its old ones are done
  Continuous  ///< … at every step, as its requests end
};

/// How requests are put into microbatches.
struct ServingRules {
  Batching batching = Batching::Continuous;
  int groups = 1;             ///< microbatches in flight; fewer than stages leave stages idle
  int batch = 1;              ///< most requests of a group
  int prefill_tokens = 8192;  ///< most prompt tokens of one pass; a longer prompt goes alone

  bool operator==(const ServingRules&) const = default;
};

/// What became of one request.
struct ServedRequest {
  double first_token_s = 0;  ///< absolute
  double end_s = 0;
  int group = 0;

  bool operator==(const ServedRequest&) const = default;
};

/// One pass of a group through the pipeline: what it carried and when each stage worked on it.
struct ServingPass {
  int group = 0;
  PassLoad load;
  std::vector<Interval> stages;  ///< [stage]

  bool operator==(const ServingPass&) const = default;
};

struct ServingResult {
  std::vector<ServedRequest> requests;  ///< as given
  std::vector<ServingPass> passes;      ///< in the order they entered the pipeline
  double end_s = 0;
  std::vector<double> stage_busy_s;
  double peak_cached_tokens = 0;  ///< reserved for prompts and outputs
  double output_tokens = 0;

  bool operator==(const ServingResult&) const = default;
};

/// Requests in the order of their arrival (ties by number) through a pipeline whose stages work on
/// one microbatch at a time, in the order the microbatches entered. A group's next pass enters when
/// its last one has left the last stage and the tokens are back at the first. A request is taken
/// when its whole prompt and output fit into the cache beside those reserved, so none is ever
/// thrown out. Infeasible when one alone does not fit. O(passes × (stages + batch)); at most
/// kMaxPasses.
Result<ServingResult> serve(const ServingPlan& plan, const ServingRules& rules,
                            const std::vector<ServingRequest>& requests);
inline constexpr std::size_t kMaxPasses = 2'000'000;

/// The same passes as a forward-only program, pass k as microbatch k, with what each cost: for
/// drawings, traces and the evaluators.
Program program_of(const ServingPlan& plan, const ServingResult& result);
Workload workload_of(const ServingPlan& plan, const ServingResult& result);

/// Value below which `share` of the values lie, nearest rank. Precondition: not empty.
double percentile(std::vector<double> values, double share);

}  // namespace pipecast

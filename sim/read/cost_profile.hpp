#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/layout.hpp"
#include "sim/model/workload.hpp"

namespace pipecast {

/// Seconds measured on the user's machine for one microbatch, in CSV with the header
/// `what,index,forward_s,backward_input_s,backward_weight_s`. `what` is `stage` (index from 0), or
/// `layer` (index from 0, all of them), `embedding` and `head` (index empty; free when left out):
/// then a stage costs the sum of what it holds. Every fault with its line.
Result<std::vector<StageCost>> read_profile_csv(std::string_view text, const std::string& file,
                                                const std::vector<StageLayers>& stages);

/// The same as JSON: {"stages": [{"forward_s": …, "backward_input_s": …, "backward_weight_s": …}]}
/// or {"layers": […], "embedding": {…}, "head": {…}}.
Result<std::vector<StageCost>> read_profile_json(std::string_view text, const std::string& file,
                                                 const std::vector<StageLayers>& stages);

/// A file, by its suffix: `.json`, else CSV.
Result<std::vector<StageCost>> read_cost_profile(const std::string& path,
                                                 const std::vector<StageLayers>& stages);

}  // namespace pipecast

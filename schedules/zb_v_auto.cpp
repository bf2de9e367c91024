#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"
#include "schedules/search_request.hpp"

namespace pipecast {
namespace {

Diagnostics check_zb_v_auto(const ScheduleRequest& request) {
  if (Diagnostics faults = require_chunks("zb-v-auto", request.shape, 2, "a V"); !faults.empty())
    return faults;
  return search::check_request("zb-v-auto", request);
}

Result<Program> generate_zb_v_auto(const ScheduleRequest& request) {
  std::vector<Program> starts;
  for (const ScheduleInfo& fixed : {zbv(), v_half(), v_min()}) {
    const ScheduleRequest same{request.shape, {}, request.workload, request.transfer_hint};
    if (!fixed.check(same).empty()) continue;
    if (Result<Program> program = fixed.generate(same)) starts.push_back(std::move(*program));
  }
  return search::solve(request, starts);
}

}  // namespace

ScheduleInfo zb_v_auto() {
  return {.name = "zb-v-auto",
          .summary =
              "zb-auto with two chunks in a V: searches the order for the given costs and memory "
              "limit",
          .provenance =
              "starts from zbv, v-half, v-min and the heuristic of Qi et al. 2024 (ZB-V) with its "
              "choices made per rank, then simulated annealing",
          .backward = BackwardKind::Split,
          .default_chunks = 2,
          .fields = search::parameters(),
          .check = check_zb_v_auto,
          .generate = generate_zb_v_auto,
          .lower_bound = search::bound_of,
          .placement = on_zigzag};
}

}  // namespace pipecast

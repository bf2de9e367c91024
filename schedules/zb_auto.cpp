#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"
#include "schedules/search_request.hpp"

namespace pipecast {
namespace {

Diagnostics check_zb_auto(const ScheduleRequest& request) {
  if (Diagnostics faults = require_one_chunk("zb-auto", request.shape); !faults.empty())
    return faults;
  return search::check_request("zb-auto", request);
}

Result<Program> generate_zb_auto(const ScheduleRequest& request) {
  std::vector<Program> starts;
  for (const ScheduleInfo& hand_made : {zb_h1(), zb_h2()})
    if (Result<Program> program =
            hand_made.generate({request.shape, {}, request.workload, request.transfer_hint}))
      starts.push_back(std::move(*program));
  return search::solve(request, starts);
}

}  // namespace

ScheduleInfo zb_auto() {
  return {.name = "zb-auto",
          .summary =
              "searches the order of forwards, input and weight gradients for the given costs and "
              "memory limit",
          .provenance =
              "starts from the heuristic of Qi et al. 2024 (zero bubble) with its choices made "
              "per rank, then simulated annealing",
          .backward = BackwardKind::Split,
          .default_chunks = 1,
          .fields = search::parameters(),
          .check = check_zb_auto,
          .generate = generate_zb_auto,
          .lower_bound = search::bound_of,
          .placement = [](const ScheduleRequest& request) {
            return request.shape.chunks == 1 ? loop_placement(request.shape)
                                             : zigzag_placement(request.shape);
          }};
}

}  // namespace pipecast

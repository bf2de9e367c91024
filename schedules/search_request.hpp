#pragma once
#include <string_view>
#include <vector>

#include "schedules/schedule.hpp"
#include "schedules/search_improve.hpp"

/// What zb-auto and zb-v-auto share between their parameters and the search.
namespace pipecast::search {

/// The parameter table of a searching schedule.
std::vector<FieldInfo> parameters();

/// Infeasible: more operations than are searched, a limit in bytes without activation bytes, a
/// limit that does not hold one microbatch on some rank.
Diagnostics check_request(std::string_view schedule, const ScheduleRequest& request);

/// The request as an ordering problem. The limit is `memory_limit` activations of one chunk and
/// microbatch, P per chunk when it is 0, unless `memory_limit_bytes` is given.
Problem problem_of(const ScheduleRequest& request);

/// The best order within the request's budget, starting also from `programs` where they fit. When
/// stages or microbatches differ, the order found for their mean costs is a start too.
Program solve(const ScheduleRequest& request, const std::vector<Program>& programs);

/// lower_bound() of the request, in seconds.
TimeBound bound_of(const ScheduleRequest& request);

}  // namespace pipecast::search

#include <algorithm>
#include <cassert>
#include <string>

#include "schedules/catalogue.hpp"
#include "schedules/schedule.hpp"

namespace pipecast {

std::vector<ScheduleInfo> builtin_schedules() {
  // clang-format off: one schedule a line
  return {
      gpipe(),
      one_f_one_b(),
      eager_1f1b(),
      bpipe(),
      interleaved_1f1b(),
      combined_1f1b(),
      group_interleaved(),
      looped_bfs(),
      zb_h1(),
      zb_h2(),
      interleaved_zb(),
      zbv(),
      zb_auto(),
      zb_v_auto(),
      v_half(),
      v_min(),
      v_1f1b(),
      dualpipe(),
      dualpipe_v(),
      chimera(),
      hanayo(),
      pipedream(),
      pipedream_2bw(),
      seq1f1b(),
      forward_only(),
      forward_only_interleaved(),
  };
  // clang-format on
}

const ScheduleInfo* find_schedule(std::span<const ScheduleInfo> schedules, std::string_view name) {
  const auto found = std::find_if(schedules.begin(), schedules.end(),
                                  [&](const ScheduleInfo& info) { return info.name == name; });
  return found == schedules.end() ? nullptr : &*found;
}

Result<Program> make_program(const ScheduleInfo& schedule, const ScheduleRequest& request) {
  if (Diagnostics faults = check(request.shape); !faults.empty()) return fail(std::move(faults));
  if (Diagnostics faults = schedule.check(request); !faults.empty()) return fail(std::move(faults));
  Result<Program> program = schedule.generate(request);
  if (!program) return program;
  Diagnostics faults = check(*program);
  assert(faults.empty() && "a registered schedule generates valid programs");
  if (faults.empty()) return program;
  faults.insert(faults.begin(), infeasible("schedule " + std::string(schedule.name) +
                                           " generated a program that breaks the rules"));
  return fail(std::move(faults));
}

}  // namespace pipecast

#include <algorithm>
#include <cassert>

#include "schedules/catalogue.hpp"
#include "schedules/schedule.hpp"

namespace pipecast {

std::vector<ScheduleInfo> builtin_schedules() {
  return {
      gpipe(),
      one_f_one_b(),
  };
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
  assert((!program || check(*program).empty()) && "a registered schedule generates valid programs");
  return program;
}

}  // namespace pipecast

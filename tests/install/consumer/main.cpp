// What a user of the installed library writes: read a scenario, forecast it, print one figure.
#include <cmath>
#include <iostream>
#include <sim/pipecast.hpp>

int main() {
  const std::vector<pipecast::ScheduleInfo> schedules = pipecast::builtin_schedules();
  const std::vector<pipecast::PlatformKind> kinds = pipecast::builtin_platform_kinds();
  const pipecast::ReadContext context{schedules, kinds, {PRESETS}};

  const auto scenario = pipecast::read_scenario_file(SCENARIOS "/zero-bubble-1.5b.yaml", context);
  if (!scenario) {
    std::cerr << pipecast::render(scenario.error());
    return 1;
  }
  const auto run = pipecast::simulate(*scenario, context, pipecast::Engine::Simgrid);
  if (!run) {
    std::cerr << pipecast::render(run.error());
    return 1;
  }
  std::cout << run->prepared.schedule << ' ' << std::llround(run->summary.makespan_s * 1e6)
            << " us\n";
}

#pragma once

/// The one header of the library. A forecast in four calls:
///
///     const std::vector<ScheduleInfo> schedules = builtin_schedules();
///     const std::vector<PlatformKind> kinds = builtin_platform_kinds();
///     const ReadContext context{schedules, kinds, {preset_folder}};
///     Result<Scenario> scenario = read_scenario_file("scenario.yaml", context);
///     Result<FinishedRun> run = simulate(*scenario, context, Engine::Simgrid);
///     std::cout << run->summary.bubble_fraction;
///
/// or, without files: build a Program, a Workload and a Platform as values, then build_task_graph()
/// and longest_path() or simgrid_run().
#include "platforms/platform_kind.hpp"
#include "schedules/schedule.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/fields.hpp"
#include "sim/base/quantity.hpp"
#include "sim/graph/flows.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/model/accelerator.hpp"
#include "sim/model/collectives.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/program.hpp"
#include "sim/model/timeline.hpp"
#include "sim/model/workload.hpp"
#include "sim/read/accelerator.hpp"
#include "sim/read/astra_network.hpp"
#include "sim/read/platform_preset.hpp"
#include "sim/read/platform_xml.hpp"
#include "sim/read/program_csv.hpp"
#include "sim/read/scenario.hpp"
#include "sim/report/run_view.hpp"
#include "sim/report/summary.hpp"
#include "sim/report/topology.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "sim/study/ping.hpp"
#include "sim/study/simulate.hpp"

#pragma once
#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/model/workload.hpp"
#include "tools/arguments.hpp"
#include "tools/commands.hpp"

namespace pipecast {

/// NAME -p P -m M [-v V] [--costs F,I,W[,C]] [--param k=v]: a schedule of the catalogue on a shape.
void declare_schedule_options(CLI::App& app);

/// The names of `--schedules A,B,…`, each of them known and at least one; all of the session's when
/// the option is not given.
Result<std::vector<std::string>> named_schedules(const CLI::App& app, const Session& session);

/// What those options ask for. Times are in ticks: one tick is one second of the model's clock.
struct ScheduleQuery {
  const ScheduleInfo* schedule = nullptr;  ///< of the session
  Shape shape;
  Workload workload;
  Seconds delay;  ///< C: from a rank to its neighbour
  FieldValues params;
};

/// What is wrong is on stderr already, and the error is its code: Input for an unknown schedule,
/// else Usage for values that are none of their option, else that of a shape out of bounds.
tl::expected<ScheduleQuery, ExitCode> schedule_query(const CLI::App& app, const Session& session);

/// The program of the query, through make_program().
Result<Program> program_of(const ScheduleQuery& query);

}  // namespace pipecast

#pragma once
#include <string>
#include <string_view>

#include "schedules/schedule.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/graph/transfers.hpp"
#include "tests/support/csv_table.hpp"

/// The measured runs of PyTorch's pipeline runtime as pipecast sees them.
namespace pipecast::test {

inline Shape shape_of(const CsvRow& run) {
  return {run.integer("P"), run.integer("v"), run.integer("m")};
}

/// Our name of the schedule class that ran.
inline std::string_view schedule_of(const CsvRow& run) {
  const std::string& name = run.text("schedule");
  if (name == "GPipe") return "gpipe";
  if (name == "1F1B") return "1f1b";
  if (name == "LoopedBFS") return "looped-bfs";
  if (name == "Interleaved1F1B") return "interleaved-1f1b";
  if (name == "InterleavedZeroBubble") return "interleaved-zb";
  if (name == "ZBVZeroBubble") return "zbv";
  return "dualpipe-v";
}

/// The targets of the run's operations, without any overhead.
inline Workload target_workload(const CsvRow& run) {
  const double whole = run.number("I_or_B_ms") * 1e-3;
  Workload workload = uniform_workload(
      shape_of(run), {{run.number("F_ms") * 1e-3}, {whole}, {run.number("W_ms") * 1e-3}});
  if (run.integer("uneven") != 0) {
    StageCost& last = workload.costs.back();
    last = {last.forward * 1.5, last.backward_input * 1.5, last.backward_weight * 1.5};
  }
  return workload;
}

/// The order the class executes, from our own generator.
inline Result<Program> program_of(const CsvRow& run) {
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  const ScheduleInfo* schedule = find_schedule(schedules, schedule_of(run));
  return make_program(*schedule,
                      {shape_of(run), *parse_fields(schedule->fields, {}), target_workload(run)});
}

/// Sends and receives where that runtime posts them: GPipe's and 1F1B's own loops, or the lowered
/// list.
inline Result<Program> with_communication(const CsvRow& run, const Program& program) {
  const bool own_loop = run.text("variant") == "class" && program.shape.chunks == 1;
  return own_loop ? lower_pytorch_class_loop(program)
                  : lower_pytorch(program, PytorchVersion::Main);
}

inline Result<TaskGraph> graph_of(const Program& program, const Workload& workload,
                                  TransferPolicy policy) {
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < program.shape.ranks; ++rank) devices.push_back({rank});
  return build_task_graph(program, workload, constant_delay_platform(program.shape.ranks, {}),
                          devices, policy);
}

}  // namespace pipecast::test

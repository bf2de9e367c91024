#pragma once
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/graph/replicated_graph.hpp"

namespace pipecast::testing {

/// A pipeline with replicas: F, I and W of 10, 12 and 8 ms, messages of 40 MB. `layout.pipeline`
/// and `chunks` follow the shape.
struct ReplicaCase {
  std::string schedule = "1f1b";
  Shape shape{2, 1, 4};
  ParallelLayout layout;
  StageSync sync{{400e6}, {200e6}, {}, {}, {0.002}};
  Bytes message{40e6};
  bool silent = false;  ///< replicas exchange nothing
  std::vector<CostsOn> on = {};
};

inline Workload workload_of(const ReplicaCase& made) {
  Workload workload = uniform_workload(made.shape, {{0.010}, {0.012}, {0.008}});
  for (StageBytes& bytes : workload.bytes) {
    bytes.message_forward = made.message;
    bytes.message_backward = made.message;
  }
  workload.on = made.on;
  if (!made.silent) workload.sync.assign(static_cast<std::size_t>(made.shape.stages()), made.sync);
  return workload;
}

inline Program program_of(const ReplicaCase& made, const Workload& workload) {
  const auto schedules = builtin_schedules();
  const ScheduleInfo& schedule = *find_schedule(schedules, made.schedule);
  return make_program(schedule, {made.shape, parse_fields(schedule.fields, {}).value(), workload})
      .value();
}

/// On the platform's first devices.
inline ReplicatedGraph replicated(ReplicaCase made, const Platform& platform, Replicas replicas) {
  made.layout.pipeline = made.shape.ranks;
  made.layout.chunks = made.shape.chunks;
  made.layout.replicas = replicas;
  std::vector<DeviceId> devices;
  for (int device = 0; device < made.layout.devices(); ++device) devices.push_back({device});
  const Workload workload = workload_of(made);
  auto built =
      build_replicated_graph(program_of(made, workload), workload, platform, made.layout, devices);
  EXPECT_TRUE(built) << render(built.error());
  return std::move(*built);
}

}  // namespace pipecast::testing

#pragma once
#include <sys/resource.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/graph/task_graph.hpp"
#include "tests/support/random_program.hpp"
#include "tests/support/side_by_side.hpp"

namespace pipecast::testing {

/// CPU time of this process and of the children that have ended: SimGrid runs in one, and the wall
/// clock of a machine that others use says little.
inline double cpu_seconds() {
  double sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      sum += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  return sum;
}

/// 1F1B with equal stages and 1 MB messages, every device behind a card of its own.
struct Pipeline {
  Program program;
  Workload workload;
  Platform platform;
  std::vector<DeviceId> devices;

  Placed placed() const {
    return {platform, *build_task_graph(program, workload, platform, devices)};
  }
};

inline Pipeline one_f_one_b_pipeline(int ranks, int microbatches) {
  const Shape shape{ranks, 1, microbatches};
  Pipeline pipeline;
  pipeline.workload = uniform_workload(shape, {{1e-3}, {1e-3}, {1e-3}});
  for (StageBytes& bytes : pipeline.workload.bytes)
    bytes.message_forward = bytes.message_backward = {1e6};
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  pipeline.program =
      *make_program(*find_schedule(schedules, "1f1b"), {shape, {}, pipeline.workload});
  pipeline.devices = in_order(pipeline.program);
  RoutingLevel level{.name = "switch", .group_of = {}, .climb = {}, .descend = {}};
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string name = std::to_string(rank);
    pipeline.platform.devices.push_back({"device" + name, "", Bytes{}, 1.0});
    pipeline.platform.links.push_back({"up" + name, {1e-6}, {10e9}, Sharing::Shared});
    pipeline.platform.links.push_back({"down" + name, {1e-6}, {10e9}, Sharing::Shared});
    level.group_of.push_back(0);
    level.climb.push_back({LinkId{2 * rank}});
    level.descend.push_back({LinkId{2 * rank + 1}});
  }
  pipeline.platform.routing = LevelRouting{{level}};
  return pipeline;
}

/// Data-parallel replicas of one pipeline, without the collectives that would join them.
inline Placed replicas(int count, int ranks, int microbatches) {
  const std::vector<Placed> parts(static_cast<std::size_t>(count),
                                  one_f_one_b_pipeline(ranks, microbatches).placed());
  return side_by_side(parts);
}

}  // namespace pipecast::testing

#include "sim/study/imperfect_runs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "sim/graph/link_images.hpp"
#include "sim/model/replica_devices.hpp"
#include "sim/report/critical_path.hpp"

namespace pipecast {
namespace {

double slowdown(const TaskGraph& graph, const Platform& platform, const Task& task) {
  return platform.devices[graph.device_of_rank[static_cast<std::size_t>(task.rank)].at()].slowdown;
}

/// The workload on every accelerator of a mixed machine.
std::vector<Workload> workloads_on(const Workload& workload) {
  std::vector<Workload> all;
  for (const CostsOn& own : workload.on) all.push_back(on_accelerator(workload, own.accelerator));
  return all;
}

/// Evenly between 0 and 1, neither of them; a pure function of its arguments.
double uniform(std::uint64_t seed, std::uint64_t step, std::uint64_t draw) {
  const std::uint64_t bits = mixed(mixed(mixed(seed) ^ step) ^ draw);
  return (static_cast<double>(bits >> 11U) + 0.5) * 0x1p-53;
}

double factor(const Jitter& jitter, std::uint64_t step, std::uint64_t task) {
  const auto seed = static_cast<std::uint64_t>(jitter.seed);
  if (!jitter.factors.empty()) {
    const double place = uniform(seed, step, task) * static_cast<double>(jitter.factors.size());
    return jitter.factors[std::min(jitter.factors.size() - 1, static_cast<std::size_t>(place))];
  }
  const double radius = std::sqrt(-2 * std::log(uniform(seed, step, 2 * task)));
  const double angle = 2 * std::numbers::pi * uniform(seed, step, 2 * task + 1);
  return std::exp(jitter.sigma * radius * std::cos(angle));
}

/// Adds up what each rank's operations put on the deciding path beyond their ordinary seconds.
void add_blame(const TaskGraph& graph, const std::vector<double>& ordinary, int ranks,
               const Timeline& timeline, std::vector<double>& blame_s) {
  for (const std::uint32_t task : critical_path(graph, timeline))
    if (is_work(graph.tasks[task]))
      blame_s[static_cast<std::size_t>(graph.tasks[task].rank % ranks)] +=
          graph.tasks[task].seconds - ordinary[task];
}

/// Replicas count tensor and context inside data: those of one data coordinate follow each other.
void slow_groups(Platform& platform, const ReplicaDevices& placed, const ParallelLayout& layout) {
  const int group = layout.tensor * layout.context;
  for (int first = 0; first < placed.replicas(); first += group)
    for (int rank = 0; rank < layout.pipeline; ++rank) {
      double slowest = 0;
      for (int replica = first; replica < first + group; ++replica)
        slowest = std::max(slowest, platform.devices[placed.device(replica, rank).at()].slowdown);
      for (int replica = first; replica < first + group; ++replica)
        platform.devices[placed.device(replica, rank).at()].slowdown = slowest;
    }
}

}  // namespace

Result<Platform> imperfect(Platform platform, const Imperfections& imperfections) {
  Diagnostics faults;
  for (const SlowDevice& slow : imperfections.slow_devices) {
    if (static_cast<std::size_t>(slow.device) < platform.devices.size())
      platform.devices[static_cast<std::size_t>(slow.device)].slowdown *= slow.factor;
    else
      faults.push_back(infeasible("slow device " + std::to_string(slow.device) +
                                  " does not exist, the platform has " +
                                  std::to_string(platform.devices.size()) + " devices"));
  }
  std::map<std::string_view, std::size_t> links;
  for (std::size_t link = 0; link < platform.links.size(); ++link)
    links.emplace(platform.links[link].name, link);
  for (const DegradedLink& degraded : imperfections.degraded_links) {
    const auto found = links.find(degraded.link);
    if (found == links.end()) {
      std::vector<std::string> names;
      for (const auto& [name, link] : links) names.emplace_back(name);
      faults.push_back(infeasible("the platform has no link '" + degraded.link + "'",
                                  suggest(degraded.link, names)));
    } else if (degraded.factor > 0) {
      Link& link = platform.links[found->second];
      link.bandwidth = link.bandwidth * degraded.factor;
    }
  }
  if (!faults.empty()) return fail(std::move(faults));
  return platform;
}

Result<Platform> in_step(Platform platform, const Imperfections& imperfections,
                         const ParallelLayout& layout, std::span<const DeviceId> devices) {
  if (devices.size() != static_cast<std::size_t>(layout.devices())) return platform;  // told later
  const ReplicaDevices placed(layout, devices);
  Diagnostics faults;
  for (const SlowRank& slow : imperfections.slow_ranks) {
    if (slow.rank >= layout.pipeline) {
      faults.push_back(infeasible("slow rank " + std::to_string(slow.rank) +
                                  " does not exist, the pipeline has " +
                                  std::to_string(layout.pipeline) + " ranks"));
      continue;
    }
    for (int replica = 0; replica < placed.replicas(); ++replica)
      platform.devices[placed.device(replica, slow.rank).at()].slowdown *= slow.factor;
  }
  if (!faults.empty()) return fail(std::move(faults));
  slow_groups(platform, placed, layout);
  return platform;
}

Diagnostics broken_ways(const TaskGraph& graph, const Imperfections& imperfections,
                        const Platform& platform) {
  std::vector<char> broken(platform.links.size(), 0);
  for (const DegradedLink& degraded : imperfections.degraded_links)
    for (std::size_t link = 0; link < broken.size(); ++link)
      if (degraded.factor == 0 && platform.links[link].name == degraded.link) broken[link] = 1;
  for (const Route& way : graph.routes)
    for (const LinkId link : way.links)
      if (broken[link.at()] != 0)
        return {infeasible("the way from " + platform.devices[way.from.at()].name + " to " +
                               platform.devices[way.to.at()].name + " needs the broken link '" +
                               platform.links[link.at()].name + "'",
                           "place the ranks on other devices: routes do not change by themselves")};
  return {};
}

std::vector<double> ordinary_seconds(const TaskGraph& graph, const Program& program,
                                     const Workload& workload, const Platform& platform) {
  const std::vector<Workload> all = workloads_on(workload);
  std::vector<double> ordinary(graph.tasks.size());
  for (std::size_t id = 0; id < ordinary.size(); ++id) {
    const Task& task = graph.tasks[id];
    ordinary[id] = task.seconds / slowdown(graph, platform, task);
    if (!is_work(task)) continue;
    const auto rank = static_cast<std::size_t>(task.rank) % program.ranks.size();
    const std::span<const Op> cell(program.ranks[rank].data() + task.position, task.cell_ops);
    for (const Workload& each : all)
      ordinary[id] = std::min(ordinary[id], cell_duration(each, cell).value);
  }
  return ordinary;
}

Result<Delays> delays_of(const TaskGraph& graph, const std::vector<double>& ordinary, int ranks,
                         const Timeline& timeline, const Jitter& jitter, const Evaluate& evaluate) {
  Delays delays;
  delays.blame_s.assign(static_cast<std::size_t>(ranks), 0);
  if (jitter.none()) {
    add_blame(graph, ordinary, ranks, timeline, delays.blame_s);
    return delays;
  }
  TaskGraph sample = graph;
  std::vector<double> steps;
  for (int step = 0; step < jitter.samples; ++step) {
    for (std::uint32_t task = 0; task < sample.tasks.size(); ++task)
      if (is_work(sample.tasks[task]))
        sample.tasks[task].seconds =
            graph.tasks[task].seconds * factor(jitter, static_cast<std::uint64_t>(step), task);
    Result<Timeline> sampled = evaluate(sample);
    if (!sampled) return fail(std::move(sampled.error()));
    steps.push_back(makespan(*sampled).value);
    add_blame(sample, ordinary, ranks, *sampled, delays.blame_s);
  }
  for (double& blame : delays.blame_s) blame /= jitter.samples;
  std::sort(steps.begin(), steps.end());
  delays.samples = jitter.samples;
  delays.least_s = steps.front();
  delays.most_s = steps.back();
  delays.median_s = (steps[(steps.size() - 1) / 2] + steps[steps.size() / 2]) / 2;
  const auto at = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(steps.size())));
  delays.p95_s = steps[at - 1];
  return delays;
}

}  // namespace pipecast

#include "sim/study/ping.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/graph/flows.hpp"
#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kMaxSizes = 64;

/// SimGrid's time grows faster than the flows: 32,768 that share links are a matter of a minute.
constexpr std::size_t kMaxSharedFlows = std::size_t{1} << 17U;

/// Times are sums in different orders.
constexpr double kRounding = 1e-9;

double end_of(const Timeline& timeline) {
  double end_s = 0;
  for (const Interval& interval : timeline.intervals) end_s = std::max(end_s, interval.end_s);
  return end_s;
}

/// Seconds of every flow if all flows shared its links all the time: max–min fairness gives none of
/// them less.
std::vector<double> crowded_seconds(const TaskGraph& graph, const Platform& platform) {
  std::vector<double> flows(platform.links.size(), 0);
  for (const Task& task : graph.tasks)
    for (const LinkId link : graph.routes[static_cast<std::size_t>(task.route)].links)
      if (platform.links[link.at()].sharing != Sharing::FatPipe) ++flows[link.at()];
  std::vector<double> seconds;
  seconds.reserve(graph.tasks.size());
  for (const Task& task : graph.tasks) {
    const Route& way = graph.routes[static_cast<std::size_t>(task.route)];
    double rate = way.bandwidth.value;
    for (const LinkId link : way.links)
      rate = std::min(rate,
                      platform.links[link.at()].bandwidth.value / std::max(1.0, flows[link.at()]));
    seconds.push_back(task.seconds + way.latency.value + task.bytes / rate);
  }
  return seconds;
}

/// Whether sharing can make the last flow no later than `end_s`.
bool ends_by(double end_s, const TaskGraph& graph, const Platform& platform) {
  const std::vector<double> seconds = crowded_seconds(graph, platform);
  std::vector<double> start(graph.tasks.size(), 0);
  for (const std::uint32_t task : graph.order) {
    const double end = start[task] + seconds[task];
    if (end > end_s * (1 + kRounding)) return false;
    for (auto [next, last] = boost::adjacent_vertices(task, graph.dependencies); next != last;
         ++next)
      start[*next] = std::max(start[*next], end);
  }
  return true;
}

/// SimGrid is asked only where links that are shared can matter: rings over ten thousand devices
/// take it minutes.
Result<Seconds> time_of(std::span<const Flow> flows, const Platform& platform, Engine engine) {
  const Result<TaskGraph> graph = build_flow_graph(flows, platform);
  if (!graph) return fail(graph.error());
  const double unshared_s = end_of(longest_path(*graph));
  if (engine == Engine::LongestPath || ends_by(unshared_s, *graph, platform))
    return Seconds{unshared_s};
  if (flows.size() > kMaxSharedFlows)
    return fail(
        infeasible(fmt::format("{} flows share links; at most {} are simulated", flows.size(),
                               kMaxSharedFlows),
                   "name fewer devices, or use --engine longest-path, which knows no sharing"));
  const Result<Timeline> simulated = simgrid_run(*graph, platform);
  if (!simulated) return fail(simulated.error());
  return Seconds{end_of(*simulated)};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// `3` or `3-8` → first and last.
Result<std::pair<std::int64_t, std::int64_t>> parse_range(std::string_view part) {
  const std::size_t dash = part.find('-');
  const auto first = parse_integer(trimmed(part.substr(0, dash)));
  const auto last =
      dash == std::string_view::npos ? first : parse_integer(trimmed(part.substr(dash + 1)));
  if (first && last && *first <= *last) return std::pair{*first, *last};
  return fail(
      input_error(fmt::format("'{}' is not a device or a range of devices", part.substr(0, 40)),
                  "write 0-7 or 0,8,16"));
}

}  // namespace

Result<std::vector<DeviceId>> parse_devices(std::string_view text, const Platform& platform) {
  std::vector<DeviceId> devices;
  std::vector<bool> named(platform.devices.size(), false);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto range = parse_range(trimmed(text.substr(begin, end - begin)));
    if (!range) return fail(range.error());
    const auto count = static_cast<std::int64_t>(platform.devices.size());
    if (range->first < 0 || range->second >= count)
      return fail(input_error(fmt::format("platform {} has devices 0 to {}, not {}", platform.name,
                                          count - 1, range->second)));
    for (std::int64_t device = range->first; device <= range->second; ++device) {
      if (named[static_cast<std::size_t>(device)])
        return fail(input_error(fmt::format("the group names device {} twice", device)));
      named[static_cast<std::size_t>(device)] = true;
      devices.push_back({static_cast<std::int32_t>(device)});
    }
    begin = end + 1;
  }
  return devices;
}

Result<std::vector<Bytes>> parse_sizes(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_quantity(trimmed(text.substr(0, dash)), Dimension::Memory);
  if (!first) return fail(input_error(first.error()));
  if (dash == std::string_view::npos) return std::vector<Bytes>{Bytes{*first}};
  const auto last = parse_quantity(trimmed(text.substr(dash + 1)), Dimension::Memory);
  if (!last) return fail(input_error(last.error()));
  if (!(*first >= 1) || *last < *first)
    return fail(input_error(fmt::format("'{}' is not a range of sizes", text.substr(0, 40)),
                            "write 1MiB-16GiB, the smaller one first"));
  std::vector<Bytes> sizes;
  for (double bytes = *first; bytes < *last && sizes.size() + 1 < kMaxSizes; bytes *= 2)
    sizes.push_back({bytes});
  sizes.push_back({*last});
  return sizes;
}

Result<std::vector<PingPoint>> ping(const Platform& platform, DeviceId from, DeviceId to,
                                    std::span<const Bytes> sizes, Engine engine) {
  if (from == to) return fail(input_error("a device does not send to itself; name two devices"));
  std::vector<PingPoint> points;
  for (const Bytes bytes : sizes) {
    const std::vector<Flow> flows{{from, to, bytes}};
    const Result<Seconds> time = time_of(flows, platform, engine);
    if (!time) return fail(time.error());
    points.push_back({bytes, *time, {bytes.value / time->value}});
  }
  return points;
}

Result<std::vector<CollectivePoint>> ping_collective(const Platform& platform,
                                                     CollectiveRequest request,
                                                     std::span<const Bytes> sizes, Engine engine) {
  std::vector<CollectivePoint> points;
  for (const Bytes bytes : sizes) {
    request.bytes = bytes;
    const Result<CollectivePlan> plan = plan_collective(request, platform);
    if (!plan) return fail(plan.error());
    const Result<Seconds> time = time_of(plan->flows, platform, engine);
    if (!time) return fail(time.error());
    const double rate = bytes.value / time->value;
    const double factor = bus_factor(request.kind, static_cast<int>(request.group.size()));
    points.push_back({plan->algorithm, bytes, *time, {rate}, {rate * factor}});
  }
  return points;
}

}  // namespace pipecast

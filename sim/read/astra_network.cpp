#include "sim/read/astra_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/read/yaml_cursor.hpp"

namespace pipecast {
namespace {

constexpr std::int64_t kMaxNpus = 1 << 16;
constexpr double kMaxWayLinks = 1 << 24;  // links in the ways that are written out
constexpr double kAstraGigabyte = 1073741824.0;

enum class Topology : std::uint8_t { Ring, FullyConnected, Switch };
const std::array<std::string_view, 3> kTopologyWords{"Ring", "FullyConnected", "Switch"};

/// One dimension of the network.
struct NetworkDimension {
  Topology topology = Topology::Switch;
  std::int32_t npus = 2;
  BytesPerSecond bandwidth;
  Seconds latency;
};

struct Grid {
  std::vector<NetworkDimension> dimensions;
  std::int32_t npus = 1;
};

std::optional<double> number(const YamlCursor& node, double minimum) {
  const auto text = node.text();
  if (!text) return std::nullopt;
  const auto value = parse_number(*text);
  if (!value)
    node.fault(value.error());
  else if (*value < minimum)
    node.fault(fmt::format("{} is too small; at least {}", *text, format_number(minimum)));
  else
    return *value;
  return std::nullopt;
}

using Lists = std::array<std::optional<YamlCursor>, 4>;

std::optional<YamlCursor> entry(const std::optional<YamlCursor>& list, std::size_t index) {
  return list && index < list->size() ? std::optional(list->item(index)) : std::nullopt;
}

void read_dimension(const Lists& lists, std::size_t index, Grid& grid) {
  NetworkDimension dimension;
  const std::vector<std::string> words(kTopologyWords.begin(), kTopologyWords.end());
  const auto topology = entry(lists[0], index);
  if (const auto word = topology ? topology->choice(words) : std::nullopt)
    dimension.topology =
        static_cast<Topology>(std::find(words.begin(), words.end(), *word) - words.begin());
  const auto count = entry(lists[1], index);
  if (const auto npus = count ? count->integer(2, kMaxNpus) : std::nullopt) {
    dimension.npus = static_cast<std::int32_t>(*npus);
    if (*npus * grid.npus > kMaxNpus)
      count->fault(fmt::format("the network has more than {} NPUs", kMaxNpus));
    else
      grid.npus *= dimension.npus;
  }
  if (const auto bandwidth = entry(lists[2], index))
    if (const auto rate = number(*bandwidth, 1e-9)) dimension.bandwidth = {*rate * kAstraGigabyte};
  if (const auto latency = entry(lists[3], index))
    if (const auto ns = number(*latency, 0)) dimension.latency = {*ns * 1e-9};
  grid.dimensions.push_back(dimension);
}

/// A list with one entry per dimension; nothing, and a fault, when it is none.
std::optional<YamlCursor> read_list(const YamlCursor& root, std::string_view key,
                                    std::optional<YamlCursor>& first) {
  const auto list = root.require(key);
  if (!list) return std::nullopt;
  if (!list->is_list() || list->size() == 0) {
    list->fault("must be a list with one entry per dimension");
    return std::nullopt;
  }
  if (list->size() > 8) {
    list->fault("more than 8 dimensions");
    return std::nullopt;
  }
  if (!first) first = list;
  if (list->size() != first->size())
    list->fault(
        fmt::format("has {} entries, {} has {}", list->size(), first->key(), first->size()));
  return list;
}

/// Every fault of the file in one go: a list that is wrong does not hide the others.
Grid read_grid(const YamlCursor& root) {
  Grid grid;
  root.expect_map({"topology", "npus_count", "bandwidth", "latency"});
  if (!root.is_map()) return grid;
  std::optional<YamlCursor> first;
  Lists lists;
  std::size_t next = 0;
  for (const char* key : {"topology", "npus_count", "bandwidth", "latency"})
    lists[next++] = read_list(root, key, first);
  const std::size_t dimensions = first ? first->size() : 0;
  for (std::size_t index = 0; index < dimensions; ++index) read_dimension(lists, index, grid);
  return grid;
}

LinkId add_wire(Platform& platform, std::string name, const NetworkDimension& dimension) {
  platform.links.push_back(
      {std::move(name), dimension.latency, dimension.bandwidth, Sharing::Shared});
  return {static_cast<std::int32_t>(platform.links.size()) - 1};
}

void add_switch(Platform& platform, RoutingLevel& level, const NetworkDimension& dimension) {
  for (std::size_t npu = 0; npu < platform.devices.size(); ++npu) {
    const std::string name = platform.devices[npu].name + " " + level.name;
    level.climb[npu] = {add_wire(platform, name + " up", dimension)};
    level.descend[npu] = {add_wire(platform, name + " down", dimension)};
  }
}

/// NPUs of one line of the dimension: `first`, first + stride, …
void add_ring(Platform& platform, RoutingLevel& level, const NetworkDimension& dimension,
              std::int32_t first, std::int32_t stride) {
  const std::int32_t size = dimension.npus;
  std::vector<LinkId> ahead;
  std::vector<LinkId> behind;
  for (std::int32_t at = 0; at < size; ++at) {
    const std::string name =
        platform.devices[static_cast<std::size_t>(first + at * stride)].name + " " + level.name;
    ahead.push_back(add_wire(platform, name + " up", dimension));
    behind.push_back(add_wire(platform, name + " down", dimension));
  }
  for (std::int32_t from = 0; from < size; ++from)
    for (std::int32_t to = 0; to < size; ++to) {
      if (from == to) continue;
      const std::int32_t hops = (to - from + size) % size;
      std::vector<LinkId>& way =
          level.direct[{DeviceId{first + from * stride}, DeviceId{first + to * stride}}];
      if (hops <= size - hops)
        for (std::int32_t step = 0; step < hops; ++step)
          way.push_back(ahead[static_cast<std::size_t>((from + step) % size)]);
      else
        for (std::int32_t step = 1; step <= size - hops; ++step)
          way.push_back(behind[static_cast<std::size_t>((from - step + size) % size)]);
    }
}

void add_pairs(Platform& platform, RoutingLevel& level, const NetworkDimension& dimension,
               std::int32_t first, std::int32_t stride) {
  for (std::int32_t from = 0; from < dimension.npus; ++from)
    for (std::int32_t to = 0; to < dimension.npus; ++to) {
      if (from == to) continue;
      const DeviceId sender{first + from * stride};
      const DeviceId receiver{first + to * stride};
      level.direct[{sender, receiver}] = {
          add_wire(platform,
                   fmt::format("{}-{} {}", platform.devices[sender.at()].name,
                               platform.devices[receiver.at()].name, level.name),
                   dimension)};
    }
}

/// NPUs that agree in all inner coordinates are wired; the others first go to the one of their unit
/// that agrees with the receiver.
RoutingLevel level_of(Platform& platform, const NetworkDimension& dimension, std::size_t number,
                      std::int32_t inner) {
  RoutingLevel level;
  level.name = fmt::format("dim{}", number + 1);
  const auto npus = static_cast<std::int32_t>(platform.devices.size());
  level.climb.resize(platform.devices.size());
  level.descend.resize(platform.devices.size());
  if (inner > 1) level.lanes.members.resize(static_cast<std::size_t>(npus / inner));
  for (std::int32_t npu = 0; npu < npus; ++npu) {
    level.group_of.push_back(npu / (inner * dimension.npus));
    if (inner == 1) continue;
    level.lanes.unit_of.push_back(npu / inner);
    level.lanes.lane_of.push_back(npu % inner);
    level.lanes.members[static_cast<std::size_t>(npu / inner)].push_back({npu});
  }
  if (dimension.topology == Topology::Switch) {
    add_switch(platform, level, dimension);
    return level;
  }
  for (std::int32_t group = 0; group < npus / (inner * dimension.npus); ++group)
    for (std::int32_t lane = 0; lane < inner; ++lane) {
      const std::int32_t first = group * inner * dimension.npus + lane;
      if (dimension.topology == Topology::Ring)
        add_ring(platform, level, dimension, first, inner);
      else
        add_pairs(platform, level, dimension, first, inner);
    }
  return level;
}

}  // namespace

Result<Platform> read_astra_network(std::string_view text, const std::string& file) {
  const auto document = parse_yaml(text, file);
  if (!document) return fail(document.error());
  FaultList faults;
  const YamlCursor root = YamlCursor::root(*document, faults);
  const Grid grid = read_grid(root);
  double written = 0;
  for (const NetworkDimension& dimension : grid.dimensions)
    if (dimension.topology != Topology::Switch)
      written += double{1} * grid.npus * dimension.npus *
                 (dimension.topology == Topology::Ring ? std::max(1, dimension.npus / 4) : 1);
  if (faults.empty() && written > kMaxWayLinks)
    root.fault(
        fmt::format("the ways of its rings and full connections have {:.0f} links; at most "
                    "{:.0f} are read",
                    written, kMaxWayLinks));
  if (!faults.empty()) return fail(faults.take(file));
  Platform platform;
  platform.name = std::filesystem::path(file).stem().string();
  for (std::int32_t npu = 0; npu < grid.npus; ++npu)
    platform.devices.push_back({fmt::format("npu{}", npu), "", Bytes{}, 1.0});
  LevelRouting routing;
  std::int32_t inner = 1;
  for (std::size_t number = 0; number < grid.dimensions.size(); ++number) {
    routing.levels.push_back(level_of(platform, grid.dimensions[number], number, inner));
    inner *= grid.dimensions[number].npus;
  }
  platform.routing = std::move(routing);
  if (Diagnostics wrong = check(platform); !wrong.empty())
    return fail(located(std::move(wrong), root.where()));
  return platform;
}

bool looks_like_astra_network(std::string_view text) {
  return text.find("npus_count") != std::string_view::npos;
}

}  // namespace pipecast

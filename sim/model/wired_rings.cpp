#include "sim/model/wired_rings.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace pipecast {
namespace {

constexpr std::size_t kMostSearched = 12;
constexpr auto kInside = static_cast<std::size_t>(FabricPart::Inside);

/// A circle of devices; every edge carries `share`, in the other direction as much.
void add_circle(CollectiveShape& shape, const std::vector<DeviceId>& circle, double share,
                bool both) {
  for (std::size_t at = 0; at < circle.size(); ++at) {
    const DeviceId next = circle[(at + 1) % circle.size()];
    shape.edges.push_back({circle[at], next, share, FabricPart::Inside});
    if (both) shape.edges.push_back({next, circle[at], share, FabricPart::Inside});
  }
}

/// Coordinates of a group in a torus, per axis ascending; their product is the group.
struct Box {
  std::int32_t first = 0;  ///< device of the torus at coordinate 0
  std::vector<std::vector<std::int32_t>> coordinates;
  std::vector<std::int32_t> strides;

  std::size_t count(std::size_t axis) const { return coordinates[axis].size(); }
};

std::optional<Box> box_of(const std::vector<DeviceId>& group, const TorusRouting& torus) {
  Box box;
  std::int32_t volume = 1;
  for (const std::int32_t size : torus.shape) volume *= size;
  box.first = group.front().value / volume * volume;
  std::int32_t stride = volume;
  std::size_t product = 1;
  for (const std::int32_t size : torus.shape) {
    stride /= size;
    std::set<std::int32_t> used;
    for (const DeviceId device : group) used.insert((device.value - box.first) / stride % size);
    box.coordinates.emplace_back(used.begin(), used.end());
    box.strides.push_back(stride);
    product *= used.size();
  }
  if (product != group.size()) return std::nullopt;
  return box;
}

/// The lines of a box along an axis.
std::vector<std::vector<DeviceId>> lines_of(const Box& box, std::size_t axis) {
  std::vector<std::int32_t> origins{box.first};
  for (std::size_t other = 0; other < box.coordinates.size(); ++other) {
    if (other == axis) continue;
    std::vector<std::int32_t> more;
    for (const std::int32_t origin : origins)
      for (const std::int32_t coordinate : box.coordinates[other])
        more.push_back(origin + coordinate * box.strides[other]);
    origins = std::move(more);
  }
  std::vector<std::vector<DeviceId>> lines;
  for (const std::int32_t origin : origins) {
    std::vector<DeviceId>& line = lines.emplace_back();
    for (const std::int32_t coordinate : box.coordinates[axis])
      line.push_back({origin + coordinate * box.strides[axis]});
  }
  return lines;
}

/// Up over every other device and down over the rest: no edge is longer than two steps.
std::vector<DeviceId> folded(const std::vector<DeviceId>& line) {
  std::vector<DeviceId> circle;
  for (std::size_t at = 0; at < line.size(); at += 2) circle.push_back(line[at]);
  for (std::size_t at = line.size() / 2 * 2; at >= 2; at -= 2) circle.push_back(line[at - 1]);
  return circle;
}

/// Whether a line closes round the torus: its edges are equally long, and the way back uses other
/// wires.
bool closes(const std::vector<DeviceId>& line, const Platform& platform) {
  std::set<LinkId> ahead;
  std::set<LinkId> behind;
  std::set<std::size_t> lengths;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const DeviceId next = line[(at + 1) % line.size()];
    const Result<Route> there = route(platform, line[at], next);
    const Result<Route> back = route(platform, next, line[at]);
    if (!there || !back) return false;
    ahead.insert(there->links.begin(), there->links.end());
    behind.insert(back->links.begin(), back->links.end());
    lengths.insert(there->links.size());
  }
  return lengths.size() == 1 && std::none_of(ahead.begin(), ahead.end(),
                                             [&](LinkId link) { return behind.contains(link); });
}

/// What a ring edge along an axis carries: the parts take the axes in turn, each beginning with
/// another one, and along an axis a part has grown by the axes before it.
double axis_share(Collective kind, const Box& box, const std::vector<std::size_t>& axes,
                  std::size_t which) {
  double devices = 1;
  for (const std::size_t axis : axes) devices *= static_cast<double>(box.count(axis));
  double share = 0;
  for (std::size_t part = 0; part < axes.size(); ++part) {
    double grown = 1;
    for (std::size_t turn = 0; axes[(part + turn) % axes.size()] != axes[which]; ++turn)
      grown *= static_cast<double>(box.count(axes[(part + turn) % axes.size()]));
    share += grown * static_cast<double>(box.count(axes[which]) - 1) / devices;
  }
  return share / static_cast<double>(axes.size()) * (kind == Collective::AllReduce ? 2 : 1);
}

std::optional<CollectiveShape> torus_rings(Collective kind, const std::vector<DeviceId>& group,
                                           const TorusRouting& torus, const Platform& platform) {
  const std::optional<Box> box = box_of(group, torus);
  if (!box) return std::nullopt;
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < box->coordinates.size(); ++axis)
    if (box->count(axis) > 1) axes.push_back(axis);
  CollectiveShape shape;
  for (std::size_t which = 0; which < axes.size(); ++which) {
    const std::vector<std::vector<DeviceId>> lines = lines_of(*box, axes[which]);
    const bool both = lines.front().size() > 2 && closes(lines.front(), platform);
    const double share = axis_share(kind, *box, axes, which) / (both ? 2 : 1);
    for (const auto& line : lines) add_circle(shape, both ? line : folded(line), share, both);
    shape.load[kInside] = std::max(shape.load[kInside], share);
    shape.hops[kInside] += ring_hops(kind, lines.front().size());
  }
  return shape;
}

/// Wires between the devices of a group, [from][to] bytes/s; 0: none of their own.
using Wires = std::vector<std::vector<double>>;

std::optional<Wires> wires_of(const std::vector<DeviceId>& group, const Platform& platform) {
  Wires wires(group.size(), std::vector<double>(group.size(), 0));
  std::set<LinkId> used;
  for (std::size_t from = 0; from < group.size(); ++from) {
    if (from == 1 && used.empty()) return std::nullopt;  // a ring passes by the first
    for (std::size_t to = 0; to < group.size(); ++to) {
      if (from == to) continue;
      const Result<Route> way = route(platform, group[from], group[to]);
      if (!way) return std::nullopt;
      if (way->links.size() != 1) continue;
      if (!used.insert(way->links.front()).second) return std::nullopt;  // a bus, not wires
      wires[from][to] = way->bandwidth.value;
    }
  }
  for (std::size_t from = 0; from < group.size(); ++from)
    for (std::size_t to = 0; to < from; ++to)  // rings go both ways
      wires[from][to] = wires[to][from] = std::min(wires[from][to], wires[to][from]);
  return wires;
}

/// Continues a circle that starts at place 0 over wires of at least `width`.
bool find_circle(const Wires& wires, double width, std::vector<std::size_t>& circle,
                 std::vector<bool>& visited) {
  const std::size_t at = circle.back();
  if (circle.size() == wires.size()) return wires[at][0] >= width;
  for (std::size_t next = 1; next < wires.size(); ++next) {
    if (visited[next] || wires[at][next] < width) continue;
    visited[next] = true;
    circle.push_back(next);
    if (find_circle(wires, width, circle, visited)) return true;
    circle.pop_back();
    visited[next] = false;
  }
  return false;
}

struct Circle {
  std::vector<std::size_t> places;
  double width = 0;
};

std::optional<Circle> widest_circle(const Wires& wires) {
  std::set<double, std::greater<>> widths;
  for (const auto& row : wires)
    for (const double width : row)
      if (width > 0) widths.insert(width);
  for (const double width : widths) {
    Circle circle{{0}, width};
    std::vector<bool> visited(wires.size(), false);
    if (find_circle(wires, width, circle.places, visited)) return circle;
  }
  return std::nullopt;
}

std::optional<CollectiveShape> searched_rings(Collective kind, const std::vector<DeviceId>& group,
                                              const Platform& platform) {
  std::optional<Wires> wires = wires_of(group, platform);
  if (!wires) return std::nullopt;
  const Wires whole = *wires;
  std::vector<Circle> circles;
  double width = 0;
  double narrowest = 0;
  while (std::optional<Circle> circle = widest_circle(*wires)) {
    for (std::size_t at = 0; at < circle->places.size(); ++at) {
      const std::size_t from = circle->places[at];
      const std::size_t to = circle->places[(at + 1) % circle->places.size()];
      (*wires)[from][to] -= circle->width;
      (*wires)[to][from] = (*wires)[from][to];
      narrowest = narrowest > 0 ? std::min(narrowest, whole[from][to]) : whole[from][to];
    }
    width += circle->width;
    circles.push_back(std::move(*circle));
  }
  if (circles.empty()) return std::nullopt;
  CollectiveShape shape;
  const double share = ring_share(kind, group.size()) / (2 * width);
  for (const Circle& circle : circles) {
    std::vector<DeviceId> devices;
    for (const std::size_t place : circle.places) devices.push_back(group[place]);
    add_circle(shape, devices, share * circle.width, true);
  }
  shape.load[kInside] = share * narrowest;
  shape.hops[kInside] = ring_hops(kind, group.size());
  return shape;
}

}  // namespace

std::optional<CollectiveShape> wired_rings(Collective kind, const std::vector<DeviceId>& group,
                                           const Platform& platform) {
  if (kind == Collective::Broadcast || group.size() < 3) return std::nullopt;
  if (const auto* torus = std::get_if<TorusRouting>(&platform.routing))
    return torus_rings(kind, group, *torus, platform);
  if (group.size() > kMostSearched) return std::nullopt;
  return searched_rings(kind, group, platform);
}

}  // namespace pipecast

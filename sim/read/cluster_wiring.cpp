#include "sim/read/cluster_wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/quantity.hpp"
#include "sim/read/text_file.hpp"

namespace pipecast {
namespace {

using Numbers = std::vector<std::size_t>;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Positive integers with commas between them; empty when it is anything else.
Numbers numbers_of(std::string_view text) {
  constexpr std::int64_t kMost = 1 << 20;
  Numbers numbers;
  for (std::string_view part : split(text, ',')) {
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    const auto number = parse_integer(part);
    if (!number || *number < 1 || *number > kMost || numbers.size() == 16) return {};
    numbers.push_back(static_cast<std::size_t>(*number));
  }
  return numbers;
}

/// The product, or more than any limit as soon as it is.
std::size_t product(const Numbers& numbers) {
  std::size_t result = 1;
  for (const std::size_t number : numbers)
    result = std::min(result * number, std::size_t{1} << 40U);
  return result;
}

std::optional<std::string> wrong_count(std::size_t wanted, std::size_t hosts) {
  if (wanted == hosts) return std::nullopt;
  return fmt::format("the topology has {} hosts, the radical {}", wanted, hosts);
}

/// The first dimension varies fastest and is walked first.
class Torus {
 public:
  explicit Torus(Numbers sizes) : sizes_(std::move(sizes)) {}

  std::vector<ClusterCable> cables(std::size_t hosts) const {
    std::vector<ClusterCable> result;
    for (std::size_t host = 0; host < hosts; ++host)
      for (std::size_t axis = 0; axis < sizes_.size(); ++axis)
        result.push_back({fmt::format("{}_axis{}", host, axis), 1});
    return result;
  }

  std::vector<CableUse> way(std::size_t from, std::size_t to) const {
    std::vector<CableUse> uses;
    std::size_t at = from;
    std::size_t stride = 1;
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
      const std::size_t size = sizes_[axis];
      const std::size_t target = to / stride % size;
      const bool ahead = walks_ahead(from / stride % size, target, size);
      for (std::size_t place = at / stride % size; place != target;) {
        const std::size_t next = (place + (ahead ? 1 : size - 1)) % size;
        const std::size_t neighbour = at + next * stride - place * stride;
        // A cable belongs to the host whose next one it leads to.
        uses.push_back({(ahead ? at : neighbour) * sizes_.size() + axis, ahead});
        at = neighbour;
        place = next;
      }
      stride *= size;
    }
    return uses;
  }

 private:
  /// Half way round counts as ahead for hosts of the lower half only, as in SimGrid.
  static bool walks_ahead(std::size_t own, std::size_t target, std::size_t size) {
    const std::size_t half = size / 2;
    return (target > own && target <= own + half) || (own > half && (own + half) % size >= target);
  }

  Numbers sizes_;
};

tl::expected<ClusterWiring, std::string> torus_wiring(std::string_view parameters,
                                                      std::size_t hosts) {
  Numbers sizes = numbers_of(parameters);
  if (sizes.empty())
    return tl::unexpected(
        fmt::format("topo_parameters '{}' are not the sizes of a torus, such as "
                    "4,4,2",
                    shown(parameters)));
  if (auto wrong = wrong_count(product(sizes), hosts)) return tl::unexpected(std::move(*wrong));
  const Torus torus(std::move(sizes));
  return ClusterWiring{torus.cables(hosts),
                       [torus](std::size_t from, std::size_t to) { return torus.way(from, to); }};
}

/// Groups of chassis of blades of nodes. A blade is a router; green cables join the blades of a
/// chassis, black ones equal blades of a group's chassis, blue ones the groups, all with all. Blade
/// g of the first chassis has the cable to group g.
class Dragonfly {
 public:
  struct Shape {
    std::size_t groups, blue, chassis, black, blades, green, nodes;
  };
  explicit Dragonfly(const Shape& shape) : shape_(shape) {
    for (std::size_t router = 0; router < routers(); ++router)
      for (std::size_t node = 0; node < shape.nodes; ++node)
        add(fmt::format("router{}_node{}", router, node), 1);
    green_ = cables_.size();
    for (std::size_t row = 0; row < shape.groups * shape.chassis; ++row)
      for (std::size_t low = 0; low < shape.blades; ++low)
        for (std::size_t high = low + 1; high < shape.blades; ++high)
          add(fmt::format("chassis{}_blade{}_{}", row, low, high), shape.green);
    black_ = cables_.size();
    for (std::size_t group = 0; group < shape.groups; ++group)
      for (std::size_t blade = 0; blade < shape.blades; ++blade)
        for (std::size_t low = 0; low < shape.chassis; ++low)
          for (std::size_t high = low + 1; high < shape.chassis; ++high)
            add(fmt::format("group{}_blade{}_chassis{}_{}", group, blade, low, high), shape.black);
    blue_ = cables_.size();
    for (std::size_t low = 0; low < shape.groups; ++low)
      for (std::size_t high = low + 1; high < shape.groups; ++high)
        add(fmt::format("group{}_{}", low, high), shape.blue);
  }

  const std::vector<ClusterCable>& cables() const { return cables_; }

  std::vector<CableUse> way(std::size_t from, std::size_t to) const {
    const Place source = place_of(from);
    const Place target = place_of(to);
    std::vector<CableUse> uses{{from, true}};
    if (from / shape_.nodes != to / shape_.nodes) between_routers(source, target, uses);
    uses.push_back({to, false});
    return uses;
  }

 private:
  struct Place {
    std::size_t group, chassis, blade;
  };

  std::size_t routers() const { return shape_.groups * shape_.chassis * shape_.blades; }
  void add(std::string name, std::size_t width) {
    cables_.push_back({std::move(name), static_cast<int>(width)});
  }
  Place place_of(std::size_t host) const {
    const std::size_t router = host / shape_.nodes;
    return {router / shape_.blades / shape_.chassis, router / shape_.blades % shape_.chassis,
            router % shape_.blades};
  }

  /// Number of the pair among all pairs of `size`, those with the smallest first member first.
  static CableUse pair(std::size_t first, std::size_t a, std::size_t b, std::size_t size) {
    const std::size_t low = std::min(a, b);
    return {first + low * (2 * size - low - 1) / 2 + std::max(a, b) - low - 1, a < b};
  }
  static std::size_t pairs(std::size_t size) { return size * (size - 1) / 2; }
  CableUse green(const Place& at, std::size_t blade) const {
    const std::size_t row = at.group * shape_.chassis + at.chassis;
    return pair(green_ + row * pairs(shape_.blades), at.blade, blade, shape_.blades);
  }
  CableUse black(const Place& at, std::size_t chassis) const {
    const std::size_t row = at.group * shape_.blades + at.blade;
    return pair(black_ + row * pairs(shape_.chassis), at.chassis, chassis, shape_.chassis);
  }

  void between_routers(const Place& source, const Place& target,
                       std::vector<CableUse>& uses) const {
    Place at = source;
    if (at.group != target.group) {
      if (at.blade != target.group) uses.push_back(green(at, target.group));
      at.blade = target.group;
      if (at.chassis != 0) uses.push_back(black(at, 0));
      uses.push_back(pair(blue_, at.group, target.group, shape_.groups));
      at = {target.group, 0, source.group};
    }
    if (at.blade != target.blade) {
      uses.push_back(green(at, target.blade));
      at = {target.group, 0, target.blade};  // SimGrid goes on from the first chassis
    }
    if (at.chassis != target.chassis) uses.push_back(black(at, target.chassis));
  }

  Shape shape_;
  std::vector<ClusterCable> cables_;
  std::size_t green_ = 0;
  std::size_t black_ = 0;
  std::size_t blue_ = 0;
};

tl::expected<ClusterWiring, std::string> dragonfly_wiring(std::string_view parameters,
                                                          std::size_t hosts) {
  std::vector<Numbers> parts;
  for (const std::string_view part : split(parameters, ';')) parts.push_back(numbers_of(part));
  const Numbers sizes{2, 2, 2, 1};
  bool right = parts.size() == sizes.size();
  for (std::size_t i = 0; right && i < sizes.size(); ++i) right = parts[i].size() == sizes[i];
  if (!right)
    return tl::unexpected(fmt::format(
        "topo_parameters '{}' are not those of a dragonfly: groups and cables between two; chassis "
        "and cables; blades and cables; nodes of a blade, such as 3,4;4,3;5,1;2",
        shown(parameters)));
  const Dragonfly::Shape shape{parts[0][0], parts[0][1], parts[1][0], parts[1][1],
                               parts[2][0], parts[2][1], parts[3][0]};
  if (auto wrong =
          wrong_count(product({shape.groups, shape.chassis, shape.blades, shape.nodes}), hosts))
    return tl::unexpected(std::move(*wrong));
  if (shape.groups > shape.blades && shape.groups > 1)
    return tl::unexpected(
        fmt::format("{} groups need as many blades in a chassis, not {}: blade g "
                    "has the cable to group g",
                    shape.groups, shape.blades));
  const Dragonfly dragonfly(shape);
  return ClusterWiring{dragonfly.cables(), [dragonfly](std::size_t from, std::size_t to) {
                         return dragonfly.way(from, to);
                       }};
}

tl::expected<ClusterWiring, std::string> read_fat_tree(std::string_view parameters,
                                                       std::size_t hosts) {
  std::vector<Numbers> parts;
  for (const std::string_view part : split(parameters, ';')) parts.push_back(numbers_of(part));
  bool right = parts.size() == 4 && parts[0].size() == 1;
  for (std::size_t i = 1; right && i < 4; ++i) right = parts[i].size() == parts[0][0];
  if (!right)
    return tl::unexpected(fmt::format(
        "topo_parameters '{}' are not those of a fat tree: levels; children, parents and parallel "
        "cables of each level, such as 2;4,4;1,2;1,2",
        shown(parameters)));
  if (auto wrong = wrong_count(product(parts[1]), hosts)) return tl::unexpected(std::move(*wrong));
  return fat_tree_wiring({parts[1], parts[2], parts[3]});
}

}  // namespace

tl::expected<ClusterWiring, std::string> cluster_wiring(std::string_view topology,
                                                        std::string_view parameters,
                                                        std::size_t hosts) {
  if (topology == "TORUS") return torus_wiring(parameters, hosts);
  if (topology == "FAT_TREE") return read_fat_tree(parameters, hosts);
  if (topology == "DRAGONFLY") return dragonfly_wiring(parameters, hosts);
  return tl::unexpected(
      fmt::format("a cluster of topology '{}' is not read; FLAT, TORUS, FAT_TREE "
                  "and DRAGONFLY are",
                  shown(topology)));
}

}  // namespace pipecast

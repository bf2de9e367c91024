#include <fmt/format.h>

#include <algorithm>

#include "sim/read/cluster_wiring.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Hosts are level 0. A node's label says where it hangs: digit i of a host or of a switch up to
/// level i counts children, above it counts parents. Neighbours in the tree differ in one digit.
class FatTree {
 public:
  explicit FatTree(FatTreeShape shape) : shape_(std::move(shape)) {
    for (std::size_t level = 0; level <= levels(); ++level) add_level(level);
    for (std::size_t node = 0; node < nodes_.size(); ++node)
      if (nodes_[node].level < levels()) connect(node);
  }

  std::vector<ClusterCable> take_cables() { return std::move(cables_); }

  std::vector<CableUse> way(std::size_t from, std::size_t to) const {
    std::vector<CableUse> uses;
    std::size_t at = from;
    while (!holds(nodes_[at], nodes_[to])) {
      const Port& port = nodes_[at].parents[parent_port(nodes_[at].level, to)];
      uses.push_back({port.cable, true});
      at = port.node;
    }
    while (at != to) at = descend(at, from, to, uses);
    return uses;
  }

 private:
  struct Port {
    std::size_t node = kNone;
    std::size_t cable = 0;
  };
  struct Node {
    std::size_t level = 0;
    std::vector<std::size_t> label;
    std::vector<Port> parents;
    std::vector<Port> children;
  };

  std::size_t levels() const { return shape_.down.size(); }

  void add_level(std::size_t level) {
    std::vector<std::size_t> radix = shape_.down;
    for (std::size_t digit = 0; digit < level; ++digit) radix[digit] = shape_.up[digit];
    std::size_t count = 1;
    for (const std::size_t size : radix) count *= size;
    first_.push_back(nodes_.size());
    for (std::size_t number = 0; number < count; ++number) {
      Node node{level, {}, {}, {}};
      std::size_t rest = number;
      for (const std::size_t size : radix) {
        node.label.push_back(rest % size);
        rest /= size;
      }
      if (level < levels()) node.parents.resize(shape_.up[level] * shape_.ports[level]);
      if (level > 0) node.children.resize(shape_.down[level - 1] * shape_.ports[level - 1]);
      nodes_.push_back(std::move(node));
    }
  }

  /// A node's parents have its label with any parent's number at its level.
  void connect(std::size_t child) {
    const std::size_t level = nodes_[child].level;
    std::size_t stride = 1;
    std::size_t base = 0;
    for (std::size_t digit = 0; digit < levels(); ++digit) {
      if (digit != level) base += nodes_[child].label[digit] * stride;
      stride *= digit <= level ? shape_.up[digit] : shape_.down[digit];
    }
    std::size_t step = 1;
    for (std::size_t digit = 0; digit < level; ++digit) step *= shape_.up[digit];
    for (std::size_t number = 0; number < shape_.up[level]; ++number) {
      const std::size_t parent = first_[level + 1] + base + number * step;
      for (std::size_t port = 0; port < shape_.ports[level]; ++port) {
        nodes_[parent].children[nodes_[child].label[level] + port * shape_.down[level]] = {
            child, cables_.size()};
        nodes_[child].parents[number + port * shape_.up[level]] = {parent, cables_.size()};
        cables_.push_back({fmt::format("{}_{}_{}", child, parent, port), 1});
      }
    }
  }

  /// Whether `host` hangs below `top`.
  static bool holds(const Node& top, const Node& host) {
    return top.level > host.level &&
           std::equal(top.label.begin() + static_cast<std::ptrdiff_t>(top.level), top.label.end(),
                      host.label.begin() + static_cast<std::ptrdiff_t>(top.level));
  }

  /// The receiver's number modulo the ports, the parents of lower levels divided away (d-mod-k).
  std::size_t parent_port(std::size_t level, std::size_t to) const {
    std::size_t number = to;
    for (std::size_t below = 0; below < level; ++below) number /= shape_.up[below];
    return number % (shape_.up[level] * shape_.ports[level]);
  }

  /// Of parallel cables the sender's number picks one. SimGrid goes on looking from the port where
  /// it found the last cable, one level further down.
  std::size_t descend(std::size_t at, std::size_t from, std::size_t to,
                      std::vector<CableUse>& uses) const {
    const std::size_t first = from % shape_.ports[nodes_[at].level - 1];
    for (std::size_t port = first * shape_.down[nodes_[at].level - 1];
         port < nodes_[at].children.size(); ++port) {
      const std::size_t digit = nodes_[at].level - 1;
      if (port % shape_.down[digit] != nodes_[to].label[digit]) continue;
      uses.push_back({nodes_[at].children[port].cable, false});
      at = nodes_[at].children[port].node;
    }
    return at;
  }

  FatTreeShape shape_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> first_;  ///< [level] its first node
  std::vector<ClusterCable> cables_;
};

/// Cables of the whole tree, as far as counting them makes sense.
double count_cables(const FatTreeShape& shape) {
  double nodes = 1;
  for (const std::size_t size : shape.down) nodes *= static_cast<double>(size);
  double cables = 0;
  for (std::size_t level = 0; level < shape.down.size(); ++level) {
    cables += nodes * static_cast<double>(shape.up[level] * shape.ports[level]);
    nodes *= static_cast<double>(shape.up[level]) / static_cast<double>(shape.down[level]);
  }
  return cables;
}

}  // namespace

tl::expected<ClusterWiring, std::string> fat_tree_wiring(const FatTreeShape& shape) {
  if (count_cables(shape) > static_cast<double>(kMaxClusterCables))
    return tl::unexpected(fmt::format("the fat tree has more than {} cables", kMaxClusterCables));
  FatTree tree(shape);
  std::vector<ClusterCable> cables = tree.take_cables();
  return ClusterWiring{
      std::move(cables),
      [tree = std::move(tree)](std::size_t from, std::size_t to) { return tree.way(from, to); }};
}

}  // namespace pipecast

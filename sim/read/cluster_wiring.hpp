#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"

namespace pipecast {

/// A cable of a cluster, as wide as `width` of its ordinary links.
struct ClusterCable {
  std::string name;
  int width = 1;
};

/// One direction of a cable.
struct CableUse {
  std::size_t cable = 0;
  bool up = true;
};

/// The inside of a SimGrid cluster that is not flat.
struct ClusterWiring {
  std::vector<ClusterCable> cables;
  /// The way between two different hosts, numbered in the order of the cluster's radical.
  std::function<std::vector<CableUse>(std::size_t from, std::size_t to)> way;
};

/// More cables than this are refused before memory is taken for them.
inline constexpr std::size_t kMaxClusterCables = std::size_t{1} << 20;

/// `TORUS`, `FAT_TREE` or `DRAGONFLY` with the `topo_parameters` of SimGrid's manual. Ways are
/// those that SimGrid 3.32 takes: dimension by dimension; up by the number of the receiver and down
/// (d-mod-k); minimal over green, black and blue links. tests/agree holds every way against SimGrid
/// itself. The error says what is wrong with the parameters.
tl::expected<ClusterWiring, std::string> cluster_wiring(std::string_view topology,
                                                        std::string_view parameters,
                                                        std::size_t hosts);

/// Of a fat tree: `levels;down,…;up,…;cables,…`, its numbers already read and their product
/// checked.
struct FatTreeShape {
  std::vector<std::size_t> down;   ///< [level] children of a switch
  std::vector<std::size_t> up;     ///< [level] parents of a node
  std::vector<std::size_t> ports;  ///< [level] parallel cables between a node and its parent
};
tl::expected<ClusterWiring, std::string> fat_tree_wiring(const FatTreeShape& shape);

}  // namespace pipecast

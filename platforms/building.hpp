#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/platform_kind.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"

namespace pipecast {

/// More devices than this are refused before memory is taken for them.
inline constexpr int kMaxDevices = 1 << 20;

/// A wire as a data sheet gives it: line rate of one direction, the fraction of it that a flow
/// reaches, and the time of one traversal.
struct Wire {
  BytesPerSecond line_rate;
  double achieved = 1;
  Seconds latency;
};

/// The two links of a full-duplex wire, as seen from the device's end.
struct Duplex {
  LinkId up;
  LinkId down;
};

/// Device or group number → the name of something that belongs to it.
using NameOf = std::function<std::string(int)>;
/// Device or group number → its wire.
using WireOf = std::function<Wire(int)>;

/// What the nodes of a machine are made of: the fields of the machine, for some nodes those of the
/// part they belong to. A part that changes nothing is none.
template <class Block>
class Nodes {
 public:
  Nodes(std::span<const Field<Block>> table, const FieldValues& values,
        std::span<const NodePart> parts)
      : machine_(pipecast::bind<Block>(table, values)) {
    for (const NodePart& part : parts)
      if (part.values != values)
        parts_.push_back({part.first, part.last, pipecast::bind<Block>(table, part.values)});
  }

  const Block& machine() const { return machine_; }
  const Block& of(int node) const {
    for (const Part& part : parts_)
      if (node >= part.first && node <= part.last) return part.block;
    return machine_;
  }
  /// Whether a node from `first` to before `end` belongs to a part.
  bool differ(int first, int end) const {
    for (const Part& part : parts_)
      if (part.first < end && part.last >= first) return true;
    return false;
  }
  /// The machine, then every part.
  std::vector<Block> blocks() const {
    std::vector<Block> all{machine_};
    for (const Part& part : parts_) all.push_back(part.block);
    return all;
  }

 private:
  struct Part {
    int first;
    int last;
    Block block;
  };
  Block machine_;
  std::vector<Part> parts_;
};

/// Adds one link in one direction.
LinkId add_link(Platform& platform, std::string name, const Wire& wire);

/// Adds the links `NAME up` and `NAME down`.
Duplex add_duplex(Platform& platform, const std::string& name, const Wire& wire);

/// Nodes of equally many devices, named `n0.d0 … n0.d7, n1.d0 …`; device = node × per_node + slot.
/// `device_of` says what the devices of a node are.
void add_nodes(Platform& platform, int nodes, int per_node,
               const std::function<Device(int)>& device_of);

/// [device] its group when every `per_group` devices in a row are one.
std::vector<std::int32_t> blocks(const Platform& platform, int per_group);

/// [device] its group when devices of the same slot meet inside blocks of `group_nodes` nodes.
std::vector<std::int32_t> rails(const Platform& platform, int per_node, int group_nodes);

/// A level without links, all devices in group 0: the way out of a device before anything is added.
RoutingLevel empty_level(std::string name, std::size_t devices);

/// One full-duplex wire per group; the devices of a group climb through it after what they climb
/// already. Call it from the device outwards.
void extend_way(Platform& platform, RoutingLevel& way, const std::vector<std::int32_t>& group_of,
                const NameOf& name_of, const WireOf& wire_of);
/// The same wire for all of them.
WireOf always(const Wire& wire);

/// The same with a wire for every device: a port or a card.
void extend_each(Platform& platform, RoutingLevel& way, std::string_view what,
                 const WireOf& wire_of);

/// The way as it stands, with these groups meeting at its end.
RoutingLevel meeting(const RoutingLevel& way, std::string name, std::vector<std::int32_t> group_of);

/// Devices behind one switch per group. `latency` of a device's wire is that of the whole way
/// between two such devices.
RoutingLevel switch_level(Platform& platform, const std::string& name,
                          std::vector<std::int32_t> group_of, const WireOf& wire_of);

/// [from][to] number of parallel wires between the devices of a node; 0: none.
using MeshShape = std::vector<std::vector<int>>;

/// One wire between every two devices.
MeshShape full_mesh(int devices);
/// Eight devices with six links each, as in DGX-1: two fully connected quads, joined pair by pair.
MeshShape cube_mesh();
/// Every device with its two neighbours.
MeshShape ring_mesh(int devices);

/// A shape with its ways: [to][from] the next device on it. Devices that are not wired are reached
/// through the fewest others; among those the widest way, then the smallest numbers.
struct MeshPlan {
  MeshShape shape;
  std::vector<std::vector<int>> next;
};
MeshPlan mesh_plan(MeshShape shape);

/// Wires the devices of a node to each other, as ways of `level` between two of them. `wire` is one
/// wire, its latency that of one hop; parallel wires add their rates.
void add_mesh(Platform& platform, RoutingLevel& level, int node, const MeshPlan& plan,
              const Wire& wire);

/// Lanes = slots of a node, units = nodes: device `slot` forwards for its whole node.
RelayLanes lanes_of_nodes(int nodes, int per_node);

/// The error for a field without a default that nobody gave.
Diagnostic missing_field(std::string_view kind, std::string_view field);

/// The error for more devices than kMaxDevices; empty when they are not.
Diagnostics device_faults(std::string_view kind, double devices);

}  // namespace pipecast

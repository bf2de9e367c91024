#include <fmt/format.h>

#include <array>
#include <sstream>

#include "platforms/building.hpp"
#include "platforms/catalogue.hpp"

namespace pipecast {
namespace {

struct Torus {
  std::string shape;
  int slices = 1;
  std::string accelerator;
  Bytes memory;
  bool wraps = true;
  BytesPerSecond wire_bandwidth;
  double wire_achieved = 1;
  Seconds wire_latency;
  int host_devices = 4;
  BytesPerSecond host_bandwidth;
  double host_achieved = 1;
  Seconds host_latency;
};

std::array<Field<Torus>, 12> fields() {
  return {{
      {"shape", &Torus::shape, "devices per dimension, such as 16x20x28"},
      {"slices", &Torus::slices, "equal tori, joined by the network of their hosts", 1, 4096},
      {"accelerator", &Torus::accelerator, "catalogue name of the device"},
      {"memory", &Torus::memory, "device memory as the system reports it; 0 B: not known"},
      {"wraps", &Torus::wraps, "whether the ends of a dimension are joined"},
      {"wire_bandwidth", &Torus::wire_bandwidth, "line rate to one neighbour, one direction", 1},
      {"wire_achieved", &Torus::wire_achieved, "fraction of it that a flow reaches", 1e-3, 1},
      {"wire_latency", &Torus::wire_latency, "from a device to its neighbour", 0, 1},
      {"host_devices", &Torus::host_devices, "devices of a host", 1, 1024},
      {"host_bandwidth", &Torus::host_bandwidth, "line rate out of a host; only between slices", 0},
      {"host_achieved", &Torus::host_achieved, "fraction of it that a flow reaches", 1e-3, 1},
      {"host_latency", &Torus::host_latency, "from device to device of two slices", 0, 10},
  }};
}

/// `16x20x28` → 16, 20, 28; nothing when it is anything else. At most 6 dimensions.
std::vector<std::int32_t> parse_shape(const std::string& text) {
  std::vector<std::int32_t> shape;
  std::stringstream parts(text + "x");
  for (std::string part; std::getline(parts, part, 'x');) {
    const auto size = parse_integer(part);
    if (!size || *size < 1 || *size > kMaxDevices || shape.size() == 6) return {};
    shape.push_back(static_cast<std::int32_t>(*size));
  }
  return shape;
}

Diagnostics faults_of(const Torus& torus, const std::vector<std::int32_t>& shape) {
  if (shape.empty())
    return {
        input_error(fmt::format("shape is '{}', not a list of sizes", torus.shape.substr(0, 40)),
                    "write 16x16 or 16x20x28")};
  double devices = torus.slices;
  for (const std::int32_t size : shape) devices *= size;
  Diagnostics faults = device_faults("torus", devices);
  if (!(torus.wire_bandwidth.value > 0)) faults.push_back(missing_field("torus", "wire_bandwidth"));
  if (torus.slices > 1 && !(torus.host_bandwidth.value > 0))
    faults.push_back(missing_field("torus", "host_bandwidth"));
  if (faults.empty() && torus.slices > 1 &&
      static_cast<std::int64_t>(devices / torus.slices) % torus.host_devices != 0)
    faults.push_back(
        input_error(fmt::format("a slice has {:.0f} devices, not a multiple of "
                                "host_devices {}",
                                devices / torus.slices, torus.host_devices)));
  return faults;
}

/// Both directions of the wire from every device to the next one of a dimension.
void add_dimension(Platform& platform, const Nodes<Torus>& slices, TorusRouting& routing,
                   std::size_t dimension, std::int32_t stride) {
  const Torus& torus = slices.machine();
  const auto volume = static_cast<std::int32_t>(platform.devices.size()) / torus.slices;
  const std::size_t dimensions = routing.shape.size();
  const std::int32_t size = routing.shape[dimension];
  const bool wraps = torus.wraps && size > 2;  // two devices have one wire between them
  for (std::int32_t device = 0; device < static_cast<std::int32_t>(platform.devices.size());
       ++device) {
    const std::int32_t at = device / stride % size;
    if (at + 1 == size && !wraps) continue;
    const std::int32_t next = device + ((at + 1) % size - at) * stride;
    const Torus& own = slices.of(device / volume);
    const Wire wire{own.wire_bandwidth, own.wire_achieved, own.wire_latency};
    const Duplex pair =
        add_duplex(platform,
                   fmt::format("{} axis{}", platform.devices[static_cast<std::size_t>(device)].name,
                               dimension),
                   wire);
    routing.forward[static_cast<std::size_t>(device) * dimensions + dimension] = pair.up;
    routing.backward[static_cast<std::size_t>(next) * dimensions + dimension] = pair.down;
  }
}

void add_hosts(Platform& platform, const Torus& torus, TorusRouting& routing) {
  RoutingLevel way = empty_level("hosts", platform.devices.size());
  extend_way(
      platform, way, blocks(platform, torus.host_devices),
      [](int host) { return fmt::format("h{} network", host); },
      always({torus.host_bandwidth, torus.host_achieved, torus.host_latency / 2}));
  routing.outside.push_back(std::move(way));
}

Result<Platform> expand(const FieldValues& values, std::span<const NodePart> parts) {
  const Nodes<Torus> slices(fields(), values, parts);
  const Torus& torus = slices.machine();
  TorusRouting routing;
  routing.shape = parse_shape(torus.shape);
  Diagnostics faults = faults_of(torus, routing.shape);
  if (!faults.empty()) return fail(std::move(faults));
  Platform platform;
  platform.name = "torus";
  std::int32_t volume = 1;
  for (const std::int32_t size : routing.shape) volume *= size;
  for (std::int32_t slice = 0; slice < torus.slices; ++slice)
    for (std::int32_t device = 0; device < volume; ++device)
      platform.devices.push_back({fmt::format("t{}.d{}", slice, device),
                                  slices.of(slice).accelerator, slices.of(slice).memory, 1.0});
  const std::size_t ports = platform.devices.size() * routing.shape.size();
  routing.forward.assign(ports, LinkId{-1});
  routing.backward.assign(ports, LinkId{-1});
  std::int32_t stride = volume;
  for (std::size_t dimension = 0; dimension < routing.shape.size(); ++dimension) {
    stride /= routing.shape[dimension];
    add_dimension(platform, slices, routing, dimension, stride);
  }
  if (torus.slices > 1) add_hosts(platform, torus, routing);
  platform.routing = std::move(routing);
  return platform;
}

}  // namespace

PlatformKind torus_kind() {
  return {"torus",
          "devices on a grid, wired to their neighbours (TPU); slices joined by hosts",
          describe<Torus>(fields()),
          expand,
          "slices",
          {{"memory", NodeField::Otherwise::Catalogue, Property::MemoryReported},
           {"wire_bandwidth", NodeField::Otherwise::Catalogue, Property::ScaleUpPeerBandwidth},
           {"wire_achieved", NodeField::Otherwise::Machine},
           {"wire_latency", NodeField::Otherwise::Machine}}};
}

}  // namespace pipecast

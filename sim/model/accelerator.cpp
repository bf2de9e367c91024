#include "sim/model/accelerator.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cmath>

namespace pipecast {
namespace {

constexpr std::array<PropertyInfo, 29> kProperties{{
    {Property::Announced, "announced", Dimension::None, "year of announcement"},
    {Property::PeakBf16, "peak_bf16", Dimension::Compute, "dense BF16 peak"},
    {Property::PeakFp16, "peak_fp16", Dimension::Compute, "dense FP16 peak"},
    {Property::PeakFp8, "peak_fp8", Dimension::Compute, "dense FP8 peak"},
    {Property::PeakFp4, "peak_fp4", Dimension::Compute, "dense FP4 peak"},
    {Property::PeakInt8, "peak_int8", Dimension::Compute, "dense INT8 peak"},
    {Property::BestMatmulBf16, "best_matmul_bf16", Dimension::Compute,
     "best BF16 matrix product measured"},
    {Property::MemoryReported, "memory_reported", Dimension::Memory,
     "memory as the system reports it"},
    {Property::MemoryNominal, "memory_nominal", Dimension::Memory, "nominal memory"},
    {Property::MemoryBandwidth, "memory_bandwidth", Dimension::Bandwidth, "memory bandwidth"},
    {Property::L2Cache, "l2_cache", Dimension::Memory, "last-level cache"},
    {Property::Multiprocessors, "multiprocessors", Dimension::None, "number of multiprocessors"},
    {Property::PcieBandwidth, "pcie_bandwidth", Dimension::Bandwidth, "PCIe bandwidth"},
    {Property::Power, "power", Dimension::Power, "board power"},
    {Property::DieToDieBandwidth, "die_to_die_bandwidth", Dimension::Bandwidth,
     "bandwidth between the dies of a package"},
    {Property::ScaleOutBandwidth, "scale_out_bandwidth", Dimension::Bandwidth,
     "scale-out bandwidth"},
    {Property::HostNetworkBandwidth, "host_network_bandwidth", Dimension::Bandwidth,
     "data-centre network bandwidth of a host"},
    {Property::DevicesPerNode, "devices_per_node", Dimension::None, "devices per node"},
    {Property::LogicalDevices, "logical_devices", Dimension::None, "logical devices of a package"},
    {Property::Devices, "devices", Dimension::None, "devices of the system"},
    {Property::Nodes, "nodes", Dimension::None, "nodes of the system"},
    {Property::Racks, "racks", Dimension::None, "racks of the system"},
    {Property::SystemPower, "system_power", Dimension::Power, "power of the system"},
    {Property::ScaleUpBandwidth, "scale_up_bandwidth", Dimension::Bandwidth,
     "scale-up bandwidth of a device"},
    {Property::ScaleUpUsableBandwidth, "scale_up_usable_bandwidth", Dimension::Bandwidth,
     "usable scale-up bandwidth of a device"},
    {Property::ScaleUpPeerBandwidth, "scale_up_peer_bandwidth", Dimension::Bandwidth,
     "scale-up bandwidth between two devices"},
    {Property::ScaleUpDevices, "scale_up_devices", Dimension::None, "devices of a scale-up domain"},
    {Property::ScaleUpNeighbours, "scale_up_neighbours", Dimension::None, "neighbours of a device"},
    {Property::ScaleUpLatency, "scale_up_latency", Dimension::Time, "scale-up latency"},
}};

}  // namespace

std::string_view word_of(Certainty certainty) {
  return kCertaintyWords[static_cast<std::size_t>(certainty)];
}

std::span<const PropertyInfo> property_table() { return kProperties; }

const PropertyInfo& info_of(Property property) {
  const PropertyInfo& info = kProperties[static_cast<std::size_t>(property)];
  assert(info.property == property && "the table follows the enumeration");
  return info;
}

Result<double> known(const Accelerator& accelerator, Property property) {
  const auto& figure = accelerator.figures[static_cast<std::size_t>(property)];
  if (figure && figure->value) return *figure->value;
  std::string hint;
  if (figure && !figure->note.empty())
    hint = figure->note;
  else if (property == Property::MemoryReported &&
           accelerator.figures[static_cast<std::size_t>(Property::MemoryNominal)])
    hint = "only the nominal memory is known";
  return fail(input_error(
      fmt::format("the {} of {} is not known", info_of(property).meaning, accelerator.name), hint));
}

Result<FlopsPerSecond> known_rate(const Accelerator& accelerator, Property property) {
  assert(info_of(property).dimension == Dimension::Compute && "a compute rate was asked for");
  return known(accelerator, property).map([](double v) { return FlopsPerSecond{v}; });
}

Result<Bytes> known_bytes(const Accelerator& accelerator, Property property) {
  assert(info_of(property).dimension == Dimension::Memory && "an amount of memory was asked for");
  return known(accelerator, property).map([](double v) { return Bytes{v}; });
}

Result<BytesPerSecond> known_bandwidth(const Accelerator& accelerator, Property property) {
  assert(info_of(property).dimension == Dimension::Bandwidth && "a bandwidth was asked for");
  return known(accelerator, property).map([](double v) { return BytesPerSecond{v}; });
}

Result<Watts> known_power(const Accelerator& accelerator, Property property) {
  assert(info_of(property).dimension == Dimension::Power && "a power was asked for");
  return known(accelerator, property).map([](double v) { return Watts{v}; });
}

Result<Bytes> memory_of(const Accelerator& accelerator) {
  const Result<Bytes> reported = known_bytes(accelerator, Property::MemoryReported);
  return reported ? reported : known_bytes(accelerator, Property::MemoryNominal);
}

Diagnostics check(const Accelerator& accelerator) {
  Diagnostics faults;
  const auto complain = [&](std::string_view what) {
    faults.push_back(input_error(fmt::format("accelerator {}: {}", accelerator.id, what)));
  };
  if (accelerator.name.empty()) complain("the name is empty");
  if (accelerator.figures.size() != kProperties.size()) {
    complain("the list of figures does not cover every property");
    return faults;
  }
  for (const PropertyInfo& info : kProperties) {
    const auto& figure = accelerator.figures[static_cast<std::size_t>(info.property)];
    if (!figure || !figure->value) continue;
    if (!(*figure->value > 0) || !std::isfinite(*figure->value))
      complain(fmt::format("{} must be greater than 0", info.key));
  }
  for (const PriceIndication& price : accelerator.prices)
    if (!(price.low.value >= 0) || !(price.high >= price.low))
      complain(fmt::format("the price range of '{}' is not in order", price.what));
  return faults;
}

}  // namespace pipecast

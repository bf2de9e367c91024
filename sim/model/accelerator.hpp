#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/base/quantity.hpp"

namespace pipecast {

/// How sure a number is.
enum class Certainty : std::uint8_t {
  Vendor,     ///< a vendor's page, as the source quotes it
  Measured,   ///< measured by the source
  Secondary,  ///< press, blog, summary or an unnamed public file
  Derived,    ///< arithmetic on sourced numbers
  Estimate,   ///< an analyst's or our own
  Memory,     ///< from memory, unverified
};

inline constexpr std::array<std::string_view, 6> kCertaintyWords{"vendor",  "measured", "secondary",
                                                                 "derived", "estimate", "memory"};
std::string_view word_of(Certainty certainty);

/// What the catalogue may say about a device. Compute rates are dense; bandwidths are one
/// direction.
enum class Property : std::uint8_t {
  Announced,
  PeakBf16,
  PeakFp16,
  PeakFp8,
  PeakFp4,
  PeakInt8,
  BestMatmulBf16,
  MemoryReported,
  MemoryNominal,
  MemoryBandwidth,
  L2Cache,
  Multiprocessors,
  PcieBandwidth,
  Power,
  DieToDieBandwidth,
  ScaleOutBandwidth,
  HostNetworkBandwidth,
  DevicesPerNode,
  LogicalDevices,
  Devices,
  Nodes,
  Racks,
  SystemPower,
  ScaleUpBandwidth,
  ScaleUpUsableBandwidth,
  ScaleUpPeerBandwidth,
  ScaleUpDevices,
  ScaleUpNeighbours,
  ScaleUpLatency,
};

/// How a property is written in a file and named in a message.
struct PropertyInfo {
  Property property;
  std::string_view key;
  Dimension dimension;
  std::string_view meaning;
};

/// Every property once, in the order of the enumeration.
std::span<const PropertyInfo> property_table();
const PropertyInfo& info_of(Property property);

/// One number with where it is from. No value: the source says nothing, or nobody published it.
struct Figure {
  std::optional<double> value;  ///< in the base unit of the property's dimension
  std::string source;
  Certainty certainty = Certainty::Memory;
  std::string note;

  bool operator==(const Figure&) const = default;
};

/// What somebody asked for a device (or a node, a rack: see `what`) on a date.
struct PriceIndication {
  std::string what;  ///< e.g. "device hour, on demand"
  Dollars low;
  Dollars high;
  std::string date;
  std::string source;
  Certainty certainty = Certainty::Memory;
  std::string note;

  bool operator==(const PriceIndication&) const = default;
};

/// A GPU or NPU of the catalogue.
struct Accelerator {
  std::string id;  ///< the file's name
  std::string name;
  std::string vendor;
  std::string scale_up;                        ///< name of the scale-up link
  std::vector<std::optional<Figure>> figures;  ///< [property]; nothing: the catalogue has no entry
  std::vector<PriceIndication> prices;

  bool operator==(const Accelerator&) const = default;
};

/// The number in its base unit, or an error that says that it is not known and for which device.
Result<double> known(const Accelerator& accelerator, Property property);

/// known() with a unit: the caller must ask for the dimension the property has.
Result<FlopsPerSecond> known_rate(const Accelerator& accelerator, Property property);
Result<Bytes> known_bytes(const Accelerator& accelerator, Property property);
Result<BytesPerSecond> known_bandwidth(const Accelerator& accelerator, Property property);
Result<Watts> known_power(const Accelerator& accelerator, Property property);

/// Memory as the system reports it, else nominal, else an error.
Result<Bytes> memory_of(const Accelerator& accelerator);

/// Every property has a slot, known numbers are finite and greater than 0, names are given, and a
/// price range is in order.
Diagnostics check(const Accelerator& accelerator);

}  // namespace pipecast

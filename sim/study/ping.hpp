#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "sim/model/collectives.hpp"
#include "sim/study/simulate.hpp"

namespace pipecast {

/// One message size between two devices, as the evaluator sees it.
struct PingPoint {
  Bytes bytes;
  Seconds time;
  BytesPerSecond bandwidth;  ///< bytes ÷ time

  bool operator==(const PingPoint&) const = default;
};

/// One size of a collective. Bus bandwidth as nccl-tests defines it.
struct CollectivePoint {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Ring;
  Bytes bytes;
  Seconds time;
  BytesPerSecond algorithm_bandwidth;
  BytesPerSecond bus_bandwidth;

  bool operator==(const CollectivePoint&) const = default;
};

/// `0-7,16,24-31` → devices in that order. The error says which part is wrong.
Result<std::vector<DeviceId>> parse_devices(std::string_view text, const Platform& platform);

/// `1MiB-16GiB` → every doubling from the first to the last, which is included; `64 KiB` → itself.
Result<std::vector<Bytes>> parse_sizes(std::string_view text);

/// Messages of these sizes, one after the other on an idle machine.
Result<std::vector<PingPoint>> ping(const Platform& platform, DeviceId from, DeviceId to,
                                    std::span<const Bytes> sizes, Engine engine);

/// A collective in these sizes, one after the other on an idle machine; `request.bytes` is not
/// read.
Result<std::vector<CollectivePoint>> ping_collective(const Platform& platform,
                                                     CollectiveRequest request,
                                                     std::span<const Bytes> sizes, Engine engine);

}  // namespace pipecast

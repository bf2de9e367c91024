#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/quantity.hpp"

namespace pipecast {

/// What a device's memory is used for.
enum class MemoryPart : std::uint8_t {
  Weights,
  Gradients,
  Optimizer,
  Norms,
  AttentionInputs,
  AttentionCore,
  AttentionOutput,
  FeedForward,
  Experts,
  Embedding,
  Logits,
  Working,        ///< alive only while an operation runs
  Transfers,      ///< buffers of pipeline messages, offloaded activations on their way
  Gathers,        ///< collectives: gathered weights and inputs, weight-gradient buffers
  Workspace,      ///< of libraries; an allowance
  Fragmentation,  ///< reserved and not used; an allowance
};
inline constexpr std::size_t kMemoryParts = 16;

/// Names as in JSON and tables, in the order of the enumeration.
inline constexpr std::array<std::string_view, kMemoryParts> kMemoryPartNames{
    "weights",          "gradients",      "optimizer",        "norms",
    "attention_inputs", "attention_core", "attention_output", "feed_forward",
    "experts",          "embedding",      "logits",           "working",
    "transfers",        "gathers",        "workspace",        "fragmentation"};

/// Bytes of every part.
struct MemoryParts {
  std::array<double, kMemoryParts> bytes{};

  double& operator[](MemoryPart part) { return bytes[static_cast<std::size_t>(part)]; }
  double operator[](MemoryPart part) const { return bytes[static_cast<std::size_t>(part)]; }
  double total() const {
    double sum = 0;
    for (const double part : bytes) sum += part;
    return sum;
  }
  /// Adds `times` × other.
  void add(const MemoryParts& other, double times = 1) {
    for (std::size_t i = 0; i < kMemoryParts; ++i) bytes[i] += times * other.bytes[i];
  }
  bool operator==(const MemoryParts&) const = default;
};

/// Memory of one stage on one device: what is always there, what a microbatch keeps, and what an
/// operation needs while it runs.
struct StageFootprint {
  MemoryParts fixed;            ///< weights, gradients, optimizer, buffers
  MemoryParts held;             ///< of one microbatch, from the forward to the backward
  MemoryParts held_for_weight;  ///< of those what remains between input and weight gradient
  MemoryParts forward;          ///< while a forward runs, beside what it will hold
  MemoryParts backward;         ///< while a backward (whole or input gradient) runs
  Bytes offloaded;              ///< of `held`, kept by the host between forward and backward

  bool operator==(const StageFootprint&) const = default;
};

/// A rank at its fullest moment, and each part at its own.
struct RankFootprint {
  MemoryParts at_peak;     ///< adds up to peak
  MemoryParts part_peaks;  ///< each part's own maximum
  double peak_at_s = 0;
  Bytes peak;      ///< what a framework's allocator would report, allowances excluded
  Bytes needed;    ///< with the allowances; this is compared with the device
  Bytes capacity;  ///< 0: the platform does not say
  bool fits = true;
  Bytes offloaded;  ///< per step and direction, to the host and back

  bool operator==(const RankFootprint&) const = default;
};

}  // namespace pipecast

#include "sim/cost/device_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pipecast {
namespace {

/// Used where neither the catalogue nor a kernel file says more; each use is noted. Below what most
/// measured devices reach: a purchase must not hang on a guess that flatters.
constexpr std::array<double, 3> kMatmulFraction{0.60, 0.55, 0.45};
/// What large products of a model reach of the best shape of a sweep: 0.81 on H100, 0.94 on A100.
constexpr double kOfBestProduct = 0.85;
constexpr double kMemoryFraction = 0.80;
constexpr double kKernelGap_s = 3e-6;
/// Attention is taken to be no faster than products, backward 0.8 of that.
constexpr double kAttentionForward = 0.60;
constexpr double kAttentionBackward = 0.50;
constexpr double kMultiprocessors = 128;
/// Sorting tokens reaches 0.1879 of the bandwidth where streams reach 0.91 (SimuMax, A100 PCIe).
constexpr double kPermutationOfMemory = 0.1879 / 0.91;

constexpr double kTileOverhead_s = 2.5e-6;
constexpr double kAttentionHalfSequence = 512;
constexpr double kWideTile = 256.0 * 128.0;

/// Tiles a library chooses from, with the share of the ceiling each reaches.
struct Tile {
  double m;
  double n;
  double reach;
};
constexpr std::array<Tile, 5> kTiles{
    {{256, 128, 1}, {128, 256, 1}, {128, 128, 0.96}, {128, 64, 0.85}, {64, 64, 0.70}}};

/// Neighbours farther than this in ln(m, k, n) say nothing about a shape.
constexpr double kNeighbourhood = 0.47;

double numeric(const std::optional<Figure>& figure, double otherwise, std::string_view what,
               std::vector<std::string>& notes) {
  if (!figure || !figure->value) {
    notes.push_back(
        fmt::format("{}: not known for this device, {:g} is taken (a guess)", what, otherwise));
    return otherwise;
  }
  if (figure->certainty == Certainty::Memory || figure->certainty == Certainty::Estimate)
    notes.push_back(fmt::format("{}: {:g} is not verified ({})", what, *figure->value,
                                figure->source.empty() ? "no source" : figure->source));
  return *figure->value;
}

double known_or(const std::optional<Figure>& figure, double otherwise) {
  return figure && figure->value ? *figure->value : otherwise;
}

void note_uncertain(const Accelerator& accelerator, Property property,
                    std::vector<std::string>& notes) {
  const auto& figure = accelerator.figures[static_cast<std::size_t>(property)];
  if (!figure || !figure->value) return;
  if (figure->certainty == Certainty::Memory || figure->certainty == Certainty::Estimate)
    notes.push_back(fmt::format("{} of {} is not verified ({})", info_of(property).meaning,
                                accelerator.name, figure->source));
}

double value_or(const Accelerator& accelerator, Property property, double otherwise) {
  return known_or(accelerator.figures[static_cast<std::size_t>(property)], otherwise);
}

/// For a device whose products nobody measured beyond the best shape of a sweep, or not at all.
double guessed_products(const Accelerator& accelerator, double peak, std::size_t matrices) {
  const double best = value_or(accelerator, Property::BestMatmulBf16, 0);
  const bool swept = matrices == 0 && best > 0 && best <= peak;
  return swept ? kOfBestProduct * best / peak : kMatmulFraction[matrices];
}

/// Older kernels are as fast as the next where nobody measured them.
std::array<double, 3> by_kernel(double best, const std::optional<Figure>& flash2,
                                const std::optional<Figure>& flash1) {
  const double second = known_or(flash2, best);
  return {best, second, known_or(flash1, second)};
}

double operand_bytes(MatrixClass matrices) {
  switch (matrices) {
    case MatrixClass::Sixteen:
      return 2;
    case MatrixClass::Eight:
      return 1;
    case MatrixClass::Four:
      return 0.5625;
  }
  return 2;
}

double reachable_peak(const DeviceModel& device, const GemmShape& shape, MatrixClass matrices) {
  return device.peak_of(matrices) * (shape.aligned ? 1 : device.unaligned);
}

double attention_curve(const DeviceModel& device, const AttentionShape& shape, AttentionPass pass) {
  const auto kernel = static_cast<std::size_t>(shape.kernel);
  const double ceiling = pass == AttentionPass::Forward ? device.attention_forward[kernel]
                                                        : device.attention_backward[kernel];
  const double by_sequence = shape.sequence / (shape.sequence + kAttentionHalfSequence);
  const double width = shape.value_width;
  return ceiling * by_sequence * std::min(1.0, width / (width + 32) / (128.0 / (128 + 32)));
}

void add_attention_samples(DeviceModel& device, const KernelFacts& facts) {
  for (const AttentionSample& sample : facts.attention) {
    const AttentionShape shape{sample.heads * sample.sequence, sample.sequence, sample.query_width,
                               sample.value_width};
    device.attention_samples.push_back(
        {std::log(shape.rows), std::log(shape.sequence), shape.query_width, shape.value_width,
         sample.pass, sample.fraction / attention_curve(device, shape, sample.pass)});
  }
}

/// How measured kernels near a shape compare with the curve; 1 where there are none.
double attention_correction(const DeviceModel& device, const AttentionShape& shape,
                            AttentionPass pass) {
  const double log_rows = std::log(shape.rows);
  const double log_sequence = std::log(shape.sequence);
  double weights = 0;
  double sum = 0;
  if (shape.kernel != AttentionKernel::Best) return 1;
  for (const DeviceModel::AttentionNeighbour& near : device.attention_samples) {
    if (near.pass != pass || near.query_width != shape.query_width ||
        near.value_width != shape.value_width)
      continue;
    const double square = (near.log_rows - log_rows) * (near.log_rows - log_rows) +
                          (near.log_sequence - log_sequence) * (near.log_sequence - log_sequence);
    if (square > kNeighbourhood * kNeighbourhood) continue;
    const double weight = 1 / (square + 1e-4);
    weights += weight;
    sum += weight * near.relative;
  }
  return weights > 0 ? sum / weights : 1;
}

void add_samples(DeviceModel& device, const KernelFacts& facts) {
  for (const GemmSample& sample : facts.gemm) {
    const double curve =
        gemm_curve(device, {sample.m, sample.k, sample.n, sample.groups}, MatrixClass::Sixteen);
    device.samples.push_back({std::log(sample.m), std::log(sample.k), std::log(sample.n),
                              std::log(sample.groups), sample.pass, sample.fraction / curve});
  }
}

}  // namespace

bool rows_aligned(double width) {
  constexpr double kValuesOf16Bytes = 8;
  return std::fmod(width, kValuesOf16Bytes) == 0;
}

MatrixClass matrix_class(Precision precision) {
  switch (precision) {
    case Precision::Bf16:
    case Precision::Fp16:
      return MatrixClass::Sixteen;
    case Precision::Fp8:
    case Precision::Fp8Blockwise:
    case Precision::Mxfp8:
      return MatrixClass::Eight;
    case Precision::Nvfp4:
      return MatrixClass::Four;
  }
  return MatrixClass::Sixteen;
}

/// 55.4 of 63 GB/s were measured on an H200 (github stas00/ml-engineering, network/README.md).
constexpr double kHostLinkFraction = 0.88;

Result<DeviceModel> device_model(const Accelerator& accelerator, const KernelFacts& facts) {
  DeviceModel device;
  device.accelerator = accelerator.id;
  const double fp16 = value_or(accelerator, Property::PeakFp16, 0);
  device.peak = {value_or(accelerator, Property::PeakBf16, fp16),
                 value_or(accelerator, Property::PeakFp8, 0),
                 value_or(accelerator, Property::PeakFp4, 0)};
  for (std::size_t i = 0; i < device.peak.size(); ++i)
    if (!(device.peak[i] > 0) && facts.peak[i] && facts.peak[i]->value) {
      device.peak[i] = *facts.peak[i]->value;
      device.notes.push_back(fmt::format("no peak of {} is published, fractions are of {:g} ({})",
                                         accelerator.name, device.peak[i], facts.peak[i]->source));
    }
  device.memory_bandwidth = value_or(accelerator, Property::MemoryBandwidth, 0);
  device.host_link = kHostLinkFraction * value_or(accelerator, Property::PcieBandwidth, 0);
  if (!(device.peak[0] > 0))
    return fail(input_error("the 16-bit peak of " + accelerator.name + " is not known"));
  if (!(device.memory_bandwidth > 0))
    return fail(input_error("the memory bandwidth of " + accelerator.name + " is not known"));
  for (const Property property :
       {Property::PeakBf16, Property::PeakFp8, Property::PeakFp4, Property::MemoryBandwidth})
    note_uncertain(accelerator, property, device.notes);
  for (std::size_t i = 0; i < 3; ++i) {
    static constexpr std::array<std::string_view, 3> kNames{
        "16-bit matrix efficiency", "8-bit matrix efficiency", "4-bit matrix efficiency"};
    if (device.peak[i] > 0)
      device.matmul[i] = numeric(facts.matmul[i], guessed_products(accelerator, device.peak[i], i),
                                 kNames[i], device.notes);
  }
  device.memory = numeric(facts.memory, kMemoryFraction, "memory efficiency", device.notes);
  device.kernel_gap_s =
      numeric(facts.kernel_gap, kKernelGap_s, "gap between kernels", device.notes);
  device.host_launch_s = known_or(facts.host_launch, 0);
  device.operation_s = known_or(facts.operation, 0);
  device.blocking_launch_s = known_or(facts.blocking_launch, 0);
  device.unaligned = known_or(facts.unaligned, 1);
  device.attention_forward =
      by_kernel(numeric(facts.attention_forward, std::min(kAttentionForward, device.matmul[0]),
                        "efficiency of attention, forward", device.notes),
                facts.flash2_forward, facts.flash1_forward);
  device.attention_backward = by_kernel(
      numeric(facts.attention_backward, std::min(kAttentionBackward, 0.8 * device.matmul[0]),
              "efficiency of attention, backward", device.notes),
      facts.flash2_backward, facts.flash1_backward);
  device.multiprocessors = numeric(
      facts.multiprocessors, value_or(accelerator, Property::Multiprocessors, kMultiprocessors),
      "number of multiprocessors", device.notes);
  device.permutation = known_or(facts.permutation, kPermutationOfMemory * device.memory);
  add_samples(device, facts);
  add_attention_samples(device, facts);
  return device;
}

double gemm_curve(const DeviceModel& device, const GemmShape& shape, MatrixClass matrices) {
  const double units = std::max(1.0, device.multiprocessors);
  double best = 0;
  for (const Tile& tile : kTiles) {
    const double tiles = std::ceil(shape.m / tile.m) * std::ceil(shape.n / tile.n) * shape.groups;
    const double slots = std::ceil(tiles / units) * units * tile.m * tile.n;
    best = std::max(best, tile.reach * shape.m * shape.n * shape.groups / slots);
  }
  const double half_k =
      kTileOverhead_s * reachable_peak(device, shape, matrices) / units / kWideTile;
  return best * shape.k / (shape.k + half_k);
}

GemmEfficiency gemm_efficiency(const DeviceModel& device, const GemmShape& shape, GemmPass pass,
                               MatrixClass matrices) {
  const double curve = gemm_curve(device, shape, matrices);
  const double ceiling = device.matmul[static_cast<std::size_t>(matrices)];
  if (matrices != MatrixClass::Sixteen || device.samples.empty()) return {ceiling * curve, false};
  const double log_m = std::log(shape.m);
  const double log_k = std::log(shape.k);
  const double log_n = std::log(shape.n);
  const double log_groups = std::log(shape.groups);
  double weights = 0;
  double sum = 0;
  for (const DeviceModel::Neighbour& near : device.samples) {
    if (near.pass != pass) continue;
    const double square = (near.log_m - log_m) * (near.log_m - log_m) +
                          (near.log_k - log_k) * (near.log_k - log_k) +
                          (near.log_n - log_n) * (near.log_n - log_n) +
                          (near.log_groups - log_groups) * (near.log_groups - log_groups);
    if (square > kNeighbourhood * kNeighbourhood) continue;
    const double weight = 1 / (square + 1e-4);
    weights += weight;
    sum += weight * near.relative;
  }
  if (weights == 0) return {ceiling * curve, false};
  return {std::min(1.0, curve * sum / weights), true};
}

GemmTime gemm_time(const DeviceModel& device, const GemmShape& shape, GemmPass pass,
                   MatrixClass matrices) {
  const GemmEfficiency efficiency = gemm_efficiency(device, shape, pass, matrices);
  const double arithmetic =
      shape.flops() / (reachable_peak(device, shape, matrices) * efficiency.fraction);
  const double operand = operand_bytes(matrices);
  const double result = pass == GemmPass::WeightGradient ? 8 : 2;
  const double bytes =
      shape.groups * (operand * shape.k * (shape.m + shape.n) + result * shape.m * shape.n);
  return {std::max(arithmetic, memory_seconds(device, bytes)), efficiency.from_table};
}

double memory_seconds(const DeviceModel& device, double bytes) {
  return bytes / (device.memory_bandwidth * device.memory);
}

double permutation_seconds(const DeviceModel& device, double bytes) {
  return bytes / (device.memory_bandwidth * device.permutation);
}

double attention_seconds(const DeviceModel& device, double flops, const AttentionShape& shape,
                         AttentionPass pass) {
  const double fraction =
      attention_curve(device, shape, pass) * attention_correction(device, shape, pass);
  return flops / (device.peak[0] * fraction);
}

}  // namespace pipecast

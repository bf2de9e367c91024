#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/model/accelerator.hpp"

namespace pipecast {

/// Number formats of the matrix multiplications of linear layers. Attention, norms and the head's
/// loss stay in 16 bits.
enum class Precision : std::uint8_t {
  Bf16,
  Fp16,
  Fp8,           ///< one scale per tensor
  Fp8Blockwise,  ///< a scale per block of 128 or 32 × 128 values
  Mxfp8,         ///< a scale per 32 values
  Nvfp4,         ///< 4 bits, a scale per 16 values
};

/// Which peak of the device a precision uses.
enum class MatrixClass : std::uint8_t { Sixteen, Eight, Four };
MatrixClass matrix_class(Precision precision);

/// Which of the three products of a linear layer: Y = X·W, dX = dY·Wᵀ, dW = Xᵀ·dY.
enum class GemmPass : std::uint8_t { Forward, InputGradient, WeightGradient };

/// An m × n product with inner length k, `groups` of them side by side (experts).
struct GemmShape {
  double m = 1;
  double k = 1;
  double n = 1;
  double groups = 1;
  bool aligned = true;  ///< the rows of every operand are whole 16 bytes: see rows_aligned()

  double flops() const { return 2 * m * k * n * groups; }
};

/// Rows of `width` 16-bit values are whole 16 bytes. cuBLAS reads operands of tensor cores in such
/// pieces; a product with other rows runs on the vector units (KernelFacts::unaligned).
bool rows_aligned(double width);

/// A measured product in 16 bits: fraction of the device's peak.
struct GemmSample {
  double m = 1;
  double k = 1;
  double n = 1;
  double groups = 1;
  GemmPass pass = GemmPass::Forward;
  double fraction = 0;

  bool operator==(const GemmSample&) const = default;
};

enum class AttentionPass : std::uint8_t { Forward, Backward };

/// Which fused attention kernel a framework runs.
enum class AttentionKernel : std::uint8_t {
  Best,    ///< the fastest there is for the device: cuDNN's, FlashAttention 3
  Flash2,  ///< FlashAttention 2, on devices that have faster ones
  Flash1,  ///< the first FlashAttention
};

/// One causal attention kernel: `rows` queries of all heads and sequences together, each against
/// up to `sequence` keys.
struct AttentionShape {
  double rows = 1;
  double sequence = 1;
  double query_width = 128;  ///< of a head; that of its keys too
  double value_width = 128;
  AttentionKernel kernel = AttentionKernel::Best;
};

/// A measured attention kernel: fraction of the 16-bit peak, the masked half not counted.
struct AttentionSample {
  AttentionPass pass = AttentionPass::Forward;
  double sequence = 1;
  double heads = 1;  ///< times sequences
  double query_width = 128;
  double value_width = 128;
  double fraction = 0;

  bool operator==(const AttentionSample&) const = default;
};

/// What was measured or calibrated of an accelerator's kernels; platforms/kernels/*.yaml.
struct KernelFacts {
  /// [MatrixClass] FLOP/s that the fractions are of, where the catalogue knows no peak.
  std::array<std::optional<Figure>, 3> peak;
  std::array<std::optional<Figure>, 3> matmul;  ///< [MatrixClass] fraction of peak, large matrices
  std::optional<Figure> memory;                 ///< fraction of the nominal memory bandwidth
  std::optional<Figure> kernel_gap;             ///< seconds between two kernels of a stream
  std::optional<Figure> attention_forward;      ///< fraction of the 16-bit peak, long sequences
  std::optional<Figure> attention_backward;
  std::optional<Figure> flash2_forward;  ///< the same with FlashAttention 2, where it is not the
                                         ///< best; left out: it is
  std::optional<Figure> flash2_backward;
  std::optional<Figure> flash1_forward;
  std::optional<Figure> flash1_backward;
  std::optional<Figure> multiprocessors;
  std::optional<Figure> host_launch;  ///< seconds of the host per kernel; 0: never in the way
  std::optional<Figure> operation;    ///< seconds per operation of a pipeline in which the device
                                      ///< waits for the host; left out: none
  std::optional<Figure> blocking_launch;  ///< seconds per kernel in which the device waits when the
                                          ///< host waits for each kernel (CUDA_LAUNCH_BLOCKING=1)
  std::optional<Figure> unaligned;    ///< fraction of the 16-bit peak that products with rows of no
                                      ///< whole 16 bytes can reach; left out: all of it
  std::optional<Figure> permutation;  ///< fraction of the nominal bandwidth when sorting tokens
  std::vector<GemmSample> gemm;
  std::string gemm_source;
  std::vector<AttentionSample> attention;
  std::string attention_source;

  bool operator==(const KernelFacts&) const = default;
};

/// An accelerator as the cost model sees it: everything that turns work into seconds.
struct DeviceModel {
  /// A sample beside the curve: where it lies and how the measurement compares with the curve.
  struct Neighbour {
    double log_m = 0;
    double log_k = 0;
    double log_n = 0;
    double log_groups = 0;
    GemmPass pass = GemmPass::Forward;
    double relative = 1;

    bool operator==(const Neighbour&) const = default;
  };
  /// A measured attention kernel beside the curve.
  struct AttentionNeighbour {
    double log_rows = 0;
    double log_sequence = 0;
    double query_width = 128;
    double value_width = 128;
    AttentionPass pass = AttentionPass::Forward;
    double relative = 1;

    bool operator==(const AttentionNeighbour&) const = default;
  };

  std::string accelerator;
  std::array<double, 3> peak{};    ///< [MatrixClass] FLOP/s; 0: the device has none
  std::array<double, 3> matmul{};  ///< [MatrixClass] fraction that large matrices reach
  double memory_bandwidth = 0;     ///< bytes/s, nominal
  double host_link = 0;  ///< bytes/s to the host, and as many back, that copies reach; 0: not known
  double memory = 0.8;   ///< fraction of it that streaming kernels reach
  double permutation = 0.2;  ///< fraction of it that sorting tokens by expert reaches
  double kernel_gap_s = 0;
  double host_launch_s = 0;
  double operation_s = 0;
  double blocking_launch_s = 0;
  double unaligned = 1;                       ///< of the 16-bit peak
  std::array<double, 3> attention_forward{};  ///< [AttentionKernel]
  std::array<double, 3> attention_backward{};
  double multiprocessors = 0;
  std::vector<Neighbour> samples;
  std::vector<AttentionNeighbour> attention_samples;
  std::vector<std::string> notes;  ///< every number that nobody measured or published

  double peak_of(MatrixClass matrices) const { return peak[static_cast<std::size_t>(matrices)]; }
  bool operator==(const DeviceModel&) const = default;
};

/// Catalogue facts and kernel facts → model. Numbers that are missing or uncertain are in `notes`.
/// Errors: no 16-bit peak or no memory bandwidth.
Result<DeviceModel> device_model(const Accelerator& accelerator, const KernelFacts& facts);

/// The device's curve, without its ceiling: whole tiles, whole waves over the multiprocessors (the
/// best of the usual tile sizes), and a prologue and epilogue of 2.5 us per tile, the constant that
/// fits DeepGEMM on H800 and cuBLAS on A100 alike (reference/hardware/kernels.yaml). 0 < curve ≤ 1.
double gemm_curve(const DeviceModel& device, const GemmShape& shape, MatrixClass matrices);

/// Fraction of the class's peak: measured shapes near this one (each dimension within a factor of
/// 1.6 overall) correct the curve, else its ceiling stands. `from_table` says which.
struct GemmEfficiency {
  double fraction = 1;
  bool from_table = false;
};
GemmEfficiency gemm_efficiency(const DeviceModel& device, const GemmShape& shape, GemmPass pass,
                               MatrixClass matrices);

/// Seconds of a product: the slower of arithmetic (÷ `unaligned` where its rows are not aligned)
/// and of moving its operands. The weight gradient is added to a 32-bit accumulator.
struct GemmTime {
  double seconds = 0;
  bool from_table = false;
};
GemmTime gemm_time(const DeviceModel& device, const GemmShape& shape, GemmPass pass,
                   MatrixClass matrices);

/// Seconds of a kernel that streams `bytes`; of one that puts rows of a matrix into another order.
double memory_seconds(const DeviceModel& device, double bytes);
double permutation_seconds(const DeviceModel& device, double bytes);

/// Seconds of a fused attention kernel of `flops` (the masked half not counted; backward: 2.5 × the
/// forward's). Measured kernels of the same head widths within a factor of 1.6 in rows and sequence
/// together correct the curve. The curve: the fraction rises with the sequence as s / (s + 512),
/// which fits FlashAttention 2 on A100 and 3 on H100, causal, head width 128; narrower heads are
/// slower as d / (d + 32) relative to 128.
double attention_seconds(const DeviceModel& device, double flops, const AttentionShape& shape,
                         AttentionPass pass);

}  // namespace pipecast

#pragma once
#include <span>
#include <string>
#include <string_view>

#include "sim/base/diagnostic.hpp"
#include "sim/cost/device_model.hpp"

namespace pipecast {

/// Text of a kernel file (platforms/kernels/<accelerator>.yaml) → value, or every fault of it:
///
///     matmul_bf16: {value: 0.75, source: …, certainty: measured}   # fraction of peak, also _fp8,
///     _fp4 memory: {value: 0.85, …}            # fraction of the nominal memory bandwidth
///     kernel_gap: {value: 2 us, …}        # between two kernels of a stream
///     host_launch: {value: 6 us, …}       # of the host per kernel; left out: never in the way
///     operation: {value: 1 ms, …}         # the device waits for the host, per pipeline operation
///     attention_forward: {value: 0.62, …} # fraction of the 16-bit peak; also attention_backward
///     multiprocessors: {value: 132, …}
///     permutation: {value: 0.5, …}        # fraction of the nominal bandwidth when sorting tokens
///     gemm: {source: …, rows: [[m, k, n, groups, forward | input | weight, fraction], …]}
///     attention: {source: …, rows: [[forward | backward, sequence, heads × sequences, query width,
///                                    value width, fraction of the peak, masked half not counted],
///                                    …]}
///
/// Every key may be left out; what is missing is guessed, and the guess reported.
Result<KernelFacts> read_kernel_facts(std::string_view text, const std::string& file);

/// `kernels/<id>.yaml` in the first preset folder that has it; nothing known when there is none.
Result<KernelFacts> find_kernel_facts(const std::string& id,
                                      std::span<const std::string> preset_folders);

/// The device model of an accelerator of the catalogue.
Result<DeviceModel> find_device_model(const std::string& accelerator,
                                      std::span<const std::string> preset_folders);

}  // namespace pipecast

#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/read/byte_source.hpp"

namespace pipecast {

/// What is kept of one Kineto (Chrome trace event) file: the events that say something about a
/// pipeline. Times in microseconds as the file has them.
struct TraceSlice {
  std::string name;
  std::int64_t thread = 0;
  double begin_us = 0;
  double end_us = 0;
};

struct TraceHostOp {
  enum class Sort : std::uint8_t { Other, Autograd, Detach, Posting };
  std::int64_t thread = 0;
  double begin_us = 0;
  float length_us = 0;
  Sort sort = Sort::Other;
};

struct TraceContent {
  int rank = -1;                     ///< distributedInfo.rank; −1: the file does not say
  int world = -1;                    ///< distributedInfo.world_size
  std::vector<TraceSlice> host;      ///< annotations of the pipeline runtime on the host
  std::vector<TraceSlice> device;    ///< the same on the device (gpu_user_annotation)
  std::vector<TraceSlice> receives;  ///< gloo:recv, posting to completion
  std::vector<TraceHostOp> host_ops;
  std::vector<double> transfer_kernels_us;  ///< durations of NCCL send and receive kernels
  std::int64_t events = 0;
  std::int64_t kernels = 0;
  bool has_events = false;     ///< a list of trace events was found
  bool has_intervals = false;  ///< lists of begins and ends by rank (see measured_tree.hpp)
  bool is_cut = false;         ///< more than the bounds below; the rest was left out
};

inline constexpr std::size_t kMostAnnotations = std::size_t{1} << 21;
inline constexpr std::size_t kMostHostOps = std::size_t{1} << 22;

/// Streams through a trace of any size, memory bounded by the constants above (about 200 MB at
/// most, a few MB for a real step). Errors: what is no JSON, cut off or damaged, with the byte
/// where reading ended.
Result<TraceContent> read_trace(ByteSource source, const std::string& file);

}  // namespace pipecast

#pragma once
#include <cstdint>

namespace pipecast {

/// When a transfer may start and who waits for it; expressed as edges, so both evaluators obey it.
enum class TransferPolicy : std::uint8_t {
  Overlapped,  ///< starts when its producer ends; only its consumer waits
  Fifo,        ///< one communication stream per rank, in program order, both ends at the head
               ///< (head-of-line blocking)
  Blocking,    ///< issued in the framework's batches; the rank's compute waits for the whole batch
};

}  // namespace pipecast

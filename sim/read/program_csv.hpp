#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/diagnostic.hpp"
#include "sim/model/program.hpp"

namespace pipecast {

/// What a schedule CSV may hold. The caller says which; it is not guessed from the file.
enum class CsvDialect : std::uint8_t {
  ComputeOnly,   ///< F, B, I, W and overlapped pairs; idle cells and REDUCE_GRAD allowed
  ComputeComms,  ///< the complete lowered list: sends, receives, UNSHARD, RESHARD, REDUCE_GRAD and
                 ///< our `post(…)`/`wait(…)` batches; no idle cells
};

/// What the letters mean.
enum class CsvNotation : std::uint8_t {
  Current,  ///< since PyTorch 2.6: B whole backward, I and W its halves
  Torch25,  ///< PyTorch 2.5: B gradient of the input, W of the weights, BW both
};

/// PyTorch's schedule CSV → Program: one line per rank, whole cells only, CRLF or LF. The number of
/// chunks is stages ÷ ranks, the placement is whatever lines contain a stage; where a stage is on
/// several lines, the microbatch decides, and microbatches that take the same ranks are one
/// direction (numbered by their first microbatch). Every violation is reported with line and
/// column: grammar, old notation, duplicated, misplaced or missing operations, a byte order mark.
/// Bounded: 64 MiB of text, kMaxOps cells.
Result<Program> read_program_csv(std::string_view text, const std::string& file,
                                 CsvDialect dialect);
Result<Program> read_program_csv(std::string_view text, const std::string& file, CsvDialect dialect,
                                 CsvNotation notation);
Result<Program> read_program_csv_file(const std::string& path, CsvDialect dialect);
Result<Program> read_program_csv_file(const std::string& path, CsvDialect dialect,
                                      CsvNotation notation);

/// Program → the same CSV, CRLF line ends as Python's csv module writes them.
std::string write_program_csv(const Program& program);

}  // namespace pipecast

#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/diagnostic.hpp"
#include "sim/model/program.hpp"

namespace pipecast {

/// What a schedule CSV may hold. The caller says which; it is not guessed from the file.
enum class CsvDialect : std::uint8_t {
  ComputeOnly,   ///< F, B, I, W and overlapped pairs; idle cells allowed
  ComputeComms,  ///< the complete lowered list, sends and receives included; no idle cells
};

/// PyTorch's schedule CSV → Program: one line per rank, whole cells only, CRLF or LF. The number of
/// chunks is stages ÷ ranks, the placement is whatever lines contain a stage. Every violation is
/// reported with line and column: grammar, old notation, duplicated or missing operations, a byte
/// order mark. Bounded: 64 MiB of text, kMaxOps cells.
Result<Program> read_program_csv(std::string_view text, const std::string& file,
                                 CsvDialect dialect);
Result<Program> read_program_csv_file(const std::string& path, CsvDialect dialect);

/// Program → the same CSV, CRLF line ends as Python's csv module writes them.
std::string write_program_csv(const Program& program);

}  // namespace pipecast

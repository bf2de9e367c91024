#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/program.hpp"
#include "sim/read/program_csv.hpp"

namespace pipecast {

/// Why a text is not a cell.
struct CellFault {
  enum class Kind : std::uint8_t {
    Grammar,
    OldNotation,    ///< PyTorch 2.4 or 2.5; `message` names it
    Communication,  ///< not allowed in a compute-only file
  };
  Kind kind = Kind::Grammar;
  std::size_t offset = 0;  ///< from the begin of the cell
  std::size_t length = 1;
  std::string message;
  std::string hint;
};

/// One cell without blanks around it → its operations, joined where they are several.
///
///     cell   := single | "(" F ";" B ")OVERLAP_F_B" | ("post" | "wait") "(" single {";" single}
///     ")" single := STAGE OP [MICROBATCH]
///
/// The whole text must match, numbers have no leading zeros, UNSHARD, RESHARD, REDUCE_GRAD and
/// OPTIMIZER take no microbatch, everything else needs one.
tl::expected<std::vector<Op>, CellFault> parse_cell(std::string_view text, CsvDialect dialect,
                                                    CsvNotation notation);

}  // namespace pipecast

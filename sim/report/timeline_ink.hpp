#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/report/timeline_pieces.hpp"

namespace pipecast {

/// What a place of a pipeline diagram shows.
enum class Ink : std::uint8_t {
  None,
  Forward,
  Backward,
  Input,
  Weight,
  Idle,
  Waiting,
  Pause,
  Mixed,  ///< forwards and backwards, of a compressed column
};
inline constexpr std::size_t kInks = 9;

Ink ink_of(const Piece& piece);

/// `forward`, `waiting for a message`: for legends.
std::string_view ink_name(Ink ink);

/// The inks of the rows in the order of the enumeration; Mixed is among them only when compressed
/// rows can hold it.
std::vector<Ink> inks_used(const std::vector<std::vector<Piece>>& rows, bool compressed);

struct CompressedColumn {
  Ink ink = Ink::None;
  bool odd = false;  ///< of an odd chunk

  bool operator==(const CompressedColumn&) const = default;
};

/// What fills most of each of `columns` columns, the first beginning at `first` columns from the
/// start of the step. Columns that hold both forwards and backwards are Mixed.
/// O(pieces + columns of every piece).
std::vector<CompressedColumn> compress_row(const std::vector<Piece>& row, double columns_per_s,
                                           int first, int columns);

}  // namespace pipecast

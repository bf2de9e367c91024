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

/// Part of a column's time, 0 to 1, that each ink fills; those of odd chunks follow the others.
using InkShares = std::array<double, 2 * kInks>;

/// The shares of `columns` columns, the first beginning at `first` columns from the start of the
/// step. Where operations are about as long as columns, a share is the mean over the neighbours
/// that a few operations reach: else columns and operations would beat against each other and show
/// stripes that are not there. O(columns of every piece + columns).
std::vector<InkShares> smooth_ink_shares(const std::vector<Piece>& row, double columns_per_s,
                                         int first, int columns);

struct CompressedColumn {
  Ink ink = Ink::None;
  bool odd = false;  ///< of an odd chunk

  bool operator==(const CompressedColumn&) const = default;
};

/// One ink a column: that of the largest share; Mixed where the column is mostly work and forwards
/// and backwards both have a good smooth share.
std::vector<CompressedColumn> compress_row(const std::vector<Piece>& row, double columns_per_s,
                                           int first, int columns);

}  // namespace pipecast

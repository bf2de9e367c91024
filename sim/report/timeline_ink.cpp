#include "sim/report/timeline_ink.hpp"

#include <algorithm>
#include <array>

namespace pipecast {
namespace {

/// Part of a column that each ink fills; those of odd chunks follow the others.
using Shares = std::array<double, 2 * kInks>;

/// Forwards and backwards, neither just the end of a neighbour that a rounded column caught.
bool is_mixed(const Shares& shares) {
  constexpr double kNoticed = 0.15;
  double forward = 0;
  double backward = 0;
  for (const std::size_t odd : {std::size_t{0}, kInks}) {
    forward += shares[odd + static_cast<std::size_t>(Ink::Forward)];
    for (const Ink ink : {Ink::Backward, Ink::Input, Ink::Weight})
      backward += shares[odd + static_cast<std::size_t>(ink)];
  }
  return forward >= kNoticed && backward >= kNoticed && forward + backward >= 0.5;
}

}  // namespace

Ink ink_of(const Piece& piece) {
  if (piece.idle) {
    switch (piece.cause) {
      case IdleCause::Dependency:
        return Ink::Idle;
      case IdleCause::Transfer:
        return Ink::Waiting;
      case IdleCause::Gap:
        return Ink::Pause;
    }
  }
  if (piece.op.kind == OpKind::Forward) return Ink::Forward;
  if (piece.op.kind == OpKind::BackwardInput) return Ink::Input;
  if (piece.op.kind == OpKind::BackwardWeight) return Ink::Weight;
  return Ink::Backward;
}

std::string_view ink_name(Ink ink) {
  switch (ink) {
    case Ink::None:
      return "";
    case Ink::Forward:
      return "forward";
    case Ink::Backward:
      return "backward";
    case Ink::Input:
      return "input gradient";
    case Ink::Weight:
      return "weight gradient";
    case Ink::Idle:
      return "idle";
    case Ink::Waiting:
      return "waiting for a message";
    case Ink::Pause:
      return "pause of the runtime";
    case Ink::Mixed:
      return "forwards and backwards";
  }
  return "";
}

std::vector<Ink> inks_used(const std::vector<std::vector<Piece>>& rows, bool compressed) {
  std::array<bool, kInks> used{};
  for (const auto& row : rows)
    for (const Piece& piece : row) used[static_cast<std::size_t>(ink_of(piece))] = true;
  const auto has = [&](Ink ink) { return used[static_cast<std::size_t>(ink)]; };
  used[static_cast<std::size_t>(Ink::Mixed)] =
      compressed && has(Ink::Forward) && (has(Ink::Backward) || has(Ink::Input));
  std::vector<Ink> inks;
  for (std::size_t ink = 0; ink < kInks; ++ink)
    if (used[ink]) inks.push_back(static_cast<Ink>(ink));
  return inks;
}

std::vector<CompressedColumn> compress_row(const std::vector<Piece>& row, double columns_per_s,
                                           int first, int columns) {
  std::vector<Shares> shares(static_cast<std::size_t>(columns));
  for (const Piece& piece : row) {
    const double begin = std::max(piece.start_s * columns_per_s - first, 0.0);
    const double end = std::min(piece.end_s * columns_per_s - first, static_cast<double>(columns));
    const std::size_t ink =
        static_cast<std::size_t>(ink_of(piece)) + (piece.chunk % 2 == 1 ? kInks : 0);
    for (auto i = static_cast<std::size_t>(begin); static_cast<double>(i) < end; ++i)
      shares[i][ink] +=
          std::min(end, static_cast<double>(i + 1)) - std::max(begin, static_cast<double>(i));
  }
  std::vector<CompressedColumn> line;
  line.reserve(shares.size());
  for (const Shares& share : shares) {
    const auto most =
        static_cast<std::size_t>(std::max_element(share.begin(), share.end()) - share.begin());
    if (is_mixed(share))
      line.push_back({Ink::Mixed, false});
    else if (share[most] > 0)
      line.push_back({static_cast<Ink>(most % kInks), most >= kInks});
    else
      line.push_back({});
  }
  return line;
}

}  // namespace pipecast

#include "sim/report/timeline_ink.hpp"

#include <algorithm>
#include <cmath>

namespace pipecast {
namespace {

/// Forwards and backwards, neither just the end of a neighbour that a rounded column caught.
bool is_mixed(const InkShares& shares) {
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

std::vector<InkShares> ink_shares(const std::vector<Piece>& row, double columns_per_s, int first,
                                  int columns) {
  std::vector<InkShares> shares(static_cast<std::size_t>(columns));
  for (const Piece& piece : row) {
    const double begin = std::max(piece.start_s * columns_per_s - first, 0.0);
    const double end = std::min(piece.end_s * columns_per_s - first, static_cast<double>(columns));
    const std::size_t ink =
        static_cast<std::size_t>(ink_of(piece)) + (piece.chunk % 2 == 1 ? kInks : 0);
    for (auto i = static_cast<std::size_t>(begin); static_cast<double>(i) < end; ++i)
      shares[i][ink] +=
          std::min(end, static_cast<double>(i + 1)) - std::max(begin, static_cast<double>(i));
  }
  return shares;
}

/// How many neighbours on each side a column is averaged with.
int smoothing_reach(const std::vector<Piece>& row, double columns_per_s) {
  double longest = 0;
  for (const Piece& piece : row)
    if (!piece.idle) longest = std::max(longest, piece.seconds() * columns_per_s);
  constexpr double kFarBelowAColumn = 0.2;
  constexpr double kVisible = 4;
  if (longest <= kFarBelowAColumn || longest >= kVisible) return 0;
  return static_cast<int>(std::ceil(3 * longest));
}

std::vector<InkShares> smoothed(const std::vector<InkShares>& shares, int reach) {
  if (reach == 0) return shares;
  const int columns = static_cast<int>(shares.size());
  std::vector<InkShares> result(shares.size());
  for (int i = 0; i < columns; ++i) {
    const int begin = std::max(i - reach, 0);
    const int end = std::min(i + reach + 1, columns);
    InkShares& mean = result[static_cast<std::size_t>(i)];
    for (int j = begin; j < end; ++j)
      for (std::size_t ink = 0; ink < mean.size(); ++ink)
        mean[ink] += shares[static_cast<std::size_t>(j)][ink] / (end - begin);
  }
  return result;
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

std::vector<InkShares> smooth_ink_shares(const std::vector<Piece>& row, double columns_per_s,
                                         int first, int columns) {
  return smoothed(ink_shares(row, columns_per_s, first, columns),
                  smoothing_reach(row, columns_per_s));
}

std::vector<CompressedColumn> compress_row(const std::vector<Piece>& row, double columns_per_s,
                                           int first, int columns) {
  const std::vector<InkShares> shares = ink_shares(row, columns_per_s, first, columns);
  const std::vector<InkShares> smooth = smoothed(shares, smoothing_reach(row, columns_per_s));
  std::vector<CompressedColumn> line(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto most = static_cast<std::size_t>(
        std::max_element(shares[i].begin(), shares[i].end()) - shares[i].begin());
    const Ink ink = shares[i][most] > 0 ? static_cast<Ink>(most % kInks) : Ink::None;
    const bool works = ink != Ink::None && ink < Ink::Idle;
    if (works && (is_mixed(smooth[i]) || is_mixed(shares[i])))
      line[i] = {Ink::Mixed, false};
    else
      line[i] = {ink, ink != Ink::None && most >= kInks};
  }
  return line;
}

}  // namespace pipecast

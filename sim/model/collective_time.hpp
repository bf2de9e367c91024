#pragma once
#include <vector>

namespace pipecast {

/// Seconds as a function of the size of a message: from piece to piece a start and a rate.
struct TimeBySize {
  struct Piece {
    double until = 0;  ///< bytes; of the last one infinite
    double start_s = 0;
    double per_byte_s = 0;

    bool operator==(const Piece&) const = default;
  };
  std::vector<Piece> pieces;  ///< ascending

  double seconds(double bytes) const {
    for (const Piece& piece : pieces)
      if (bytes < piece.until) return piece.start_s + piece.per_byte_s * bytes;
    return 0;
  }
  bool operator==(const TimeBySize&) const = default;
};

/// What a collective of a group takes when nothing else uses the fabric: by the fastest of the
/// algorithms that plan_collective() would choose from.
struct CollectiveTime {
  std::vector<TimeBySize> algorithms;  ///< empty: not known

  bool known() const { return !algorithms.empty(); }
  /// 0 where nothing is known.
  double seconds(double bytes) const {
    double fastest = 0;
    for (const TimeBySize& time : algorithms)
      if (const double own = time.seconds(bytes); &time == &algorithms.front() || own < fastest)
        fastest = own;
    return fastest;
  }
  bool operator==(const CollectiveTime&) const = default;
};

}  // namespace pipecast

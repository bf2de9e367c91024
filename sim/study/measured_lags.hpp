#pragma once
#include <map>
#include <tuple>
#include <vector>

#include "sim/model/measured_run.hpp"

namespace pipecast {

/// What an operation waited for last, and how long after that it began.
struct MeasuredLag {
  enum class Cause : std::uint8_t { Start, SameRank, Message };
  Cause cause = Cause::Start;
  double seconds = 0;     ///< from the end of the cause to the begin
  std::size_t rank = 0;   ///< of the cause
  std::size_t index = 0;  ///< of the cause, in the rank's list
};

/// Looks up operations of a step and what they depend on.
class MeasuredIndex {
 public:
  explicit MeasuredIndex(const MeasuredStep& step);

  /// The later of the rank's previous cell and the producer of the input on another rank. A joined
  /// pair begins with its first operation. O(log operations).
  MeasuredLag lag(std::size_t rank, std::size_t index) const;

 private:
  using Key = std::tuple<OpKind, int, int>;
  using Place = std::pair<std::size_t, std::size_t>;

  const Place* producer(const MeasuredOp& op) const;

  const MeasuredStep& step_;
  std::map<Key, Place> places_;
  int stages_ = 0;
};

}  // namespace pipecast

#pragma once
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace pipecast {

/// Gives intervals lanes so that no two of a lane overlap; a lane is free again at the end of its
/// interval, and the lowest free lane is taken. Uses as few lanes as intervals overlap. Ask in the
/// order of the starts. O(log lanes) each.
class Lanes {
 public:
  int take(std::int64_t start, std::int64_t end) {
    while (!busy_.empty() && busy_.top().first <= start) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    int lane = count_;
    if (free_.empty()) {
      ++count_;
    } else {
      lane = free_.top();
      free_.pop();
    }
    busy_.emplace(end, lane);
    return lane;
  }
  int count() const { return count_; }

 private:
  using BusyLane = std::pair<std::int64_t, int>;
  std::priority_queue<BusyLane, std::vector<BusyLane>, std::greater<>> busy_;
  std::priority_queue<int, std::vector<int>, std::greater<>> free_;
  int count_ = 0;
};

}  // namespace pipecast

#include "sim/report/link_load.hpp"

#include <algorithm>

namespace pipecast {
namespace {

/// Above this a bandwidth stands for "no limit" and utilization says nothing.
constexpr double kLimitedBandwidth = 1e24;

/// Bytes per piece of one link. A transfer adds to its first and last piece directly and to those
/// in between through a difference, so it costs the same however long it is.
class PieceBytes {
 public:
  explicit PieceBytes(std::size_t pieces) : part_(pieces, 0.0), change_(pieces + 1, 0.0) {}

  /// `first` and `last` in pieces from the start of the step.
  void add(double bytes, double first, double last) {
    const std::size_t begin = piece(first);
    const std::size_t end = piece(last);
    if (begin == end) {
      part_[begin] += bytes;
      return;
    }
    const double rate = bytes / (last - first);
    part_[begin] += rate * (static_cast<double>(begin + 1) - first);
    part_[end] += rate * (last - static_cast<double>(end));
    change_[begin + 1] += rate;
    change_[end] -= rate;
  }

  std::vector<double> scaled(double factor) const {
    std::vector<double> result(part_.size());
    double running = 0;
    for (std::size_t i = 0; i < part_.size(); ++i) {
      running += change_[i];
      // The running sum of a piece without traffic is rounding, not load.
      const double bytes = part_[i] + running;
      result[i] = bytes * factor < 1e-9 ? 0 : bytes * factor;
    }
    return result;
  }

 private:
  std::size_t piece(double place) const {
    return std::min(static_cast<std::size_t>(std::max(place, 0.0)), part_.size() - 1);
  }
  std::vector<double> part_;
  std::vector<double> change_;
};

}  // namespace

bool has_limit(const Link& link) { return link.bandwidth.value <= kLimitedBandwidth; }

std::vector<LinkLoad> link_loads(const Platform& platform, const TaskGraph& graph,
                                 const Timeline& timeline, std::size_t pieces) {
  const double length_s = makespan(timeline).value / static_cast<double>(pieces);
  std::vector<LinkLoad> loads;
  if (length_s <= 0) return loads;
  std::vector<PieceBytes> bytes;
  std::vector<std::size_t> slot_of(platform.links.size(), platform.links.size());
  for (std::size_t id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    if (task.route < 0 || task.bytes <= 0) continue;
    const Interval& interval = timeline.intervals[id];
    for (const LinkId link : graph.routes[static_cast<std::size_t>(task.route)].links) {
      if (!has_limit(platform.links[link.at()])) continue;
      std::size_t& slot = slot_of[link.at()];
      if (slot == platform.links.size()) {
        slot = bytes.size();
        bytes.emplace_back(pieces);
        loads.push_back({link, {}});
      }
      bytes[slot].add(task.bytes, interval.start_s / length_s, interval.end_s / length_s);
    }
  }
  for (std::size_t slot = 0; slot < loads.size(); ++slot)
    loads[slot].utilization =
        bytes[slot].scaled(1 / (platform.links[loads[slot].link.at()].bandwidth.value * length_s));
  std::sort(loads.begin(), loads.end(),
            [](const LinkLoad& a, const LinkLoad& b) { return a.link < b.link; });
  return loads;
}

}  // namespace pipecast

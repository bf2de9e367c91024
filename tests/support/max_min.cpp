#include "tests/support/max_min.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace pipecast::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTogether = 1e-13;  ///< flows that end within this part of a step end together

struct Flow {
  std::uint32_t task = 0;
  double left_bytes = 0;
  double widest = kInfinity;  ///< narrowest fat pipe on its way
  std::vector<LinkId> links;  ///< the shared ones
  double rate = 0;
  bool frozen = false;
};

class Reference {
 public:
  Reference(const TaskGraph& graph, const Platform& platform)
      : graph_(graph), platform_(platform), waiting_(graph.tasks.size(), 0) {
    timeline_.intervals.resize(graph.tasks.size());
    for (std::uint32_t task = 0; task < waiting_.size(); ++task)
      for (auto [next, end] = boost::adjacent_vertices(task, graph.dependencies); next != end;
           ++next)
        ++waiting_[*next];
  }

  Timeline run() {
    const std::vector<std::uint32_t> waiting = waiting_;  // starting a task releases others
    for (std::uint32_t task = 0; task < waiting.size(); ++task)
      if (waiting[task] == 0) start(task);
    while (!delays_.empty() || !flows_.empty()) step();
    return std::move(timeline_);
  }

 private:
  const Route* way(std::uint32_t task) const {
    const std::int32_t route = graph_.tasks[task].route;
    return route < 0 ? nullptr : &graph_.routes[static_cast<std::size_t>(route)];
  }

  void start(std::uint32_t task) {
    timeline_.intervals[task].start_s = now_;
    double fixed_s = graph_.tasks[task].seconds;
    if (const Route* route = way(task))
      for (const LinkId link : route->links) fixed_s += platform_.links[link.at()].latency.value;
    delays_.emplace(now_ + fixed_s, task);
  }

  void end_delay(std::uint32_t task) {
    const Route* route = way(task);
    if (route == nullptr || graph_.tasks[task].bytes == 0) return finish(task);
    Flow flow;
    flow.task = task;
    flow.left_bytes = graph_.tasks[task].bytes;
    for (const LinkId id : route->links) {
      const Link& link = platform_.links[id.at()];
      if (link.sharing == Sharing::FatPipe)
        flow.widest = std::min(flow.widest, link.bandwidth.value);
      else
        flow.links.push_back(id);
    }
    flows_.push_back(std::move(flow));
  }

  void finish(std::uint32_t task) {
    timeline_.intervals[task].end_s = now_;
    for (auto [next, end] = boost::adjacent_vertices(task, graph_.dependencies); next != end;
         ++next)
      if (--waiting_[*next] == 0) start(*next);
  }

  /// Each round freezes the flows at the lowest level anything allows.
  void divide_links() {
    std::map<LinkId, double> left;
    for (Flow& flow : flows_) {
      flow.frozen = false;
      for (const LinkId id : flow.links) left[id] = platform_.links[id.at()].bandwidth.value;
    }
    for (std::size_t unfrozen = flows_.size(); unfrozen > 0;) {
      std::map<LinkId, int> users;
      for (const Flow& flow : flows_)
        if (!flow.frozen)
          for (const LinkId id : flow.links) ++users[id];
      double level = kInfinity;
      LinkId fullest{-1};
      for (const auto& [id, count] : users)
        if (left[id] / count < level) {
          level = left[id] / count;
          fullest = id;
        }
      for (const Flow& flow : flows_)
        if (!flow.frozen && flow.widest <= level) {
          level = flow.widest;
          fullest = {-1};
        }
      for (Flow& flow : flows_) {
        const bool stops = fullest.value < 0
                               ? flow.widest <= level
                               : std::count(flow.links.begin(), flow.links.end(), fullest) > 0;
        if (flow.frozen || !stops) continue;
        flow.frozen = true;
        flow.rate = level;
        for (const LinkId id : flow.links) left[id] -= level;
        --unfrozen;
      }
    }
  }

  void step() {
    divide_links();
    double step_s = delays_.empty() ? kInfinity : delays_.begin()->first - now_;
    for (const Flow& flow : flows_) step_s = std::min(step_s, flow.left_bytes / flow.rate);
    const bool delay_ends = !delays_.empty() && delays_.begin()->first - now_ <= step_s;
    now_ = delay_ends ? delays_.begin()->first : now_ + step_s;
    std::vector<std::uint32_t> ended;
    for (Flow& flow : flows_) {
      if (flow.left_bytes <= flow.rate * step_s * (1 + kTogether)) {
        ended.push_back(flow.task);
        flow.left_bytes = 0;
      } else {
        flow.left_bytes -= flow.rate * step_s;
      }
    }
    std::erase_if(flows_, [](const Flow& flow) { return flow.left_bytes <= 0; });
    for (const std::uint32_t task : ended) finish(task);
    while (!delays_.empty() && delays_.begin()->first <= now_) {
      const std::uint32_t task = delays_.begin()->second;
      delays_.erase(delays_.begin());
      end_delay(task);
    }
  }

  const TaskGraph& graph_;
  const Platform& platform_;
  std::vector<std::uint32_t> waiting_;
  std::set<std::pair<double, std::uint32_t>> delays_;  ///< when a fixed time ends
  std::vector<Flow> flows_;
  double now_ = 0;
  Timeline timeline_;
};

}  // namespace

Timeline max_min_reference(const TaskGraph& graph, const Platform& platform) {
  return Reference(graph, platform).run();
}

}  // namespace pipecast::testing

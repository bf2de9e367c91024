#include "sim/run/simgrid_run.hpp"

// SimGrid 3.32's version.h does not compile on its own, and 4.0's s4u.hpp does not include it.
// clang-format off
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
// clang-format on

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <deque>
#include <limits>
#include <set>
#include <simgrid/kernel/Timer.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "sim/run/child_process.hpp"

namespace pipecast {
namespace {

namespace s4u = simgrid::s4u;

// Contexts on hand-made stacks confuse the sanitizers.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

#if SIMGRID_VERSION >= 40000
s4u::NetZone* add_zone(s4u::Engine& engine) {
  return engine.get_netzone_root()->add_netzone_empty("fabric");
}
s4u::Host* add_host(s4u::NetZone& zone, const std::string& name) {
  return zone.add_host(name, 1.0);
}
s4u::Link* add_link(s4u::NetZone& zone, const std::string& name, double bandwidth) {
  return zone.add_link(name, bandwidth);
}
template <class Callback>
void on_flow_end(Callback callback) {
  s4u::Comm::on_completion_cb(callback);
}
#else
s4u::NetZone* add_zone(s4u::Engine&) { return s4u::create_empty_zone("fabric"); }
s4u::Host* add_host(s4u::NetZone& zone, const std::string& name) {
  return zone.create_host(name, 1.0);
}
s4u::Link* add_link(s4u::NetZone& zone, const std::string& name, double bandwidth) {
  return zone.create_link(name, bandwidth);
}
template <class Callback>
void on_flow_end(Callback callback) {
  s4u::Activity::on_completion_cb(callback);
}
#endif

/// SimGrid treats network events closer than its precision as one. Its default, 1 ns, is long
/// beside a microsecond; but the clock must be able to hit a date within it, so it has to stay
/// above the spacing of doubles near the end of the run, which the sum of all durations bounds.
double timing_precision(const TaskGraph& graph) {
  double total = 0;
  for (const Task& task : graph.tasks) total += unshared_seconds(graph, task);
  return std::max(8 * std::numeric_limits<double>::epsilon() * total, 1e-30);
}

std::vector<std::string> engine_options(const TaskGraph& graph) {
  std::array<char, 32> precision{};
  std::snprintf(precision.data(), precision.size(), "%.3e", timing_precision(graph));
  return {"pipecast",
          "--cfg=network/model:CM02",
          "--cfg=network/crosstraffic:0",
          "--cfg=network/TCP-gamma:0",
          "--cfg=surf/precision:" + std::string(precision.data()),
          kSanitized ? "--cfg=contexts/factory:thread" : "--cfg=contexts/stack-size:64"};
}

/// SimGrid's constructor takes a main function's arguments.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words) : words_(std::move(words)) {
    for (std::string& word : words_) pointers_.push_back(word.data());
    count_ = static_cast<int>(pointers_.size());
    pointers_.push_back(nullptr);
  }
  int* count() { return &count_; }
  char** values() { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
  int count_ = 0;
};

/// SimGrid counts whole bytes; sizes and bandwidths in units of 1/scale bytes keep fractions of
/// one.
double unit_scale(const TaskGraph& graph) {
  constexpr int kSizeBits = 62;
  double largest = 1;
  for (const Task& task : graph.tasks) largest = std::max(largest, task.bytes);
  return std::ldexp(1.0, kSizeBits - std::ilogb(largest) - 1);
}

/// The part of the platform that transfers use, as SimGrid hosts, links and routes.
class Fabric {
 public:
  Fabric(s4u::Engine& engine, const TaskGraph& graph, const Platform& platform)
      : platform_(platform),
        scale_(unit_scale(graph)),
        zone_(add_zone(engine)),
        hosts_(platform.devices.size()),
        links_(platform.links.size()) {
    for (std::size_t route = 0; route < graph.routes.size(); ++route)
      add_route(graph.routes[route], route);
    zone_->seal();
  }

  /// A route in SimGrid's terms.
  struct Way {
    s4u::Host* from = nullptr;
    s4u::Host* to = nullptr;
    double latency_s = 0;
  };

  const Way& way(std::int32_t route) const { return ways_[static_cast<std::size_t>(route)]; }
  std::uint64_t units(double bytes) const {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(bytes * scale_));
  }

 private:
  /// Flows on a fat pipe do not feel each other, but SimGrid would solve for all of them together
  /// whenever one begins or ends. So each route has a pipe of its own, as wide as its narrowest.
  void add_route(const Route& route, std::size_t index) {
    std::vector<s4u::LinkInRoute> links;
    Way way{host(route.from), receiver(route, index), route.latency.value};
    double pipe = std::numeric_limits<double>::infinity();
    for (const LinkId id : route.links) {
      const Link& link = platform_.links[id.at()];
      if (link.sharing == Sharing::FatPipe)
        pipe = std::min(pipe, link.bandwidth.value);
      else
        links.emplace_back(shared_link(id));
    }
    if (std::isfinite(pipe)) links.emplace_back(fat_pipe("r" + std::to_string(index), pipe));
    zone_->add_bypass_route(way.from->get_netpoint(), way.to->get_netpoint(), nullptr, nullptr,
                            links);
    ways_.push_back(way);
  }

  s4u::Host* host(DeviceId device) {
    s4u::Host*& known = hosts_[device.at()];
    if (known == nullptr) known = add_host(*zone_, "d" + std::to_string(device.value));
    return known;
  }

  /// SimGrid knows one route per pair of hosts. Another one between the same devices, or one from
  /// a device to itself, ends at a host of its own.
  s4u::Host* receiver(const Route& route, std::size_t index) {
    const bool first = pairs_.emplace(route.from, route.to).second;
    if (first && route.from != route.to) return host(route.to);
    return add_host(*zone_, "r" + std::to_string(index));
  }

  s4u::Link* shared_link(LinkId id) {
    s4u::Link*& known = links_[id.at()];
    if (known == nullptr) {
      known = add_link(*zone_, "l" + std::to_string(id.value),
                       platform_.links[id.at()].bandwidth.value * scale_);
      known->seal();
    }
    return known;
  }

  s4u::Link* fat_pipe(const std::string& name, double bandwidth) {
    s4u::Link* link = add_link(*zone_, name, bandwidth * scale_);
    link->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)->seal();
    return link;
  }

  const Platform& platform_;
  double scale_;
  s4u::NetZone* zone_;
  std::vector<s4u::Host*> hosts_;  ///< [device] null until a route needs it
  std::vector<s4u::Link*> links_;  ///< [link] likewise, shared ones only
  std::set<std::pair<DeviceId, DeviceId>> pairs_;
  std::vector<Way> ways_;  ///< [route]
};

/// Starts each task when its last predecessor ends, on SimGrid's clock.
///
/// Fixed times (computes, pauses, latencies) are SimGrid timers, bytes are SimGrid flows. Both are
/// started from the callback that made them ready, without an actor: a task costs two or three
/// events and no context switch. Latency stays out of the links because CM02 would give flows with
/// a longer way a smaller share of a common link.
class Execution {
 public:
  Execution(const TaskGraph& graph, const Fabric& fabric)
      : graph_(graph),
        fabric_(fabric),
        intervals_(graph.tasks.size()),
        waiting_for_(graph.tasks.size(), 0) {
    for (std::uint32_t task = 0; task < graph.tasks.size(); ++task)
      for (auto [next, end] = boost::adjacent_vertices(task, graph.dependencies); next != end;
           ++next)
        ++waiting_for_[*next];
    on_flow_end([this](const s4u::Activity& comm) { end_flow(*comm.get_data<Flow>()); });
  }

  void start_sources() {
    for (std::uint32_t task = 0; task < waiting_for_.size(); ++task)
      if (waiting_for_[task] == 0) ready_.push_back(task);
    start_ready();
  }

  std::size_t unfinished() const { return intervals_.size() - finished_; }
  std::vector<Interval> take() { return std::move(intervals_); }

 private:
  /// A transfer whose bytes are under way; SimGrid crashes if nobody holds the Comm.
  struct Flow {
    std::uint32_t task = 0;
    s4u::CommPtr comm;
  };

  void start_ready() {
    while (!ready_.empty()) {
      const std::uint32_t task = ready_.back();
      ready_.pop_back();
      start(task);
    }
  }

  void start(std::uint32_t task) {
    const double now = s4u::Engine::get_clock();
    intervals_[task].start_s = now;
    const double fixed_s = fixed_seconds(graph_.tasks[task]);
    if (now + fixed_s > now)
      simgrid::kernel::timer::Timer::set(now + fixed_s, [this, task] {
        end_fixed(task);
        start_ready();
      });
    else
      end_fixed(task);
  }

  double fixed_seconds(const Task& task) const {
    return task.route < 0 ? task.seconds : task.seconds + fabric_.way(task.route).latency_s;
  }

  void end_fixed(std::uint32_t task) {
    if (graph_.tasks[task].bytes > 0 && graph_.tasks[task].route >= 0)
      start_flow(task);
    else
      finish(task);
  }

  void start_flow(std::uint32_t task) {
    const Fabric::Way& way = fabric_.way(graph_.tasks[task].route);
    if (idle_flows_.empty()) idle_flows_.push_back(&flows_.emplace_back());
    Flow& flow = *idle_flows_.back();
    idle_flows_.pop_back();
    flow.task = task;
    flow.comm = s4u::Comm::sendto_init();
    flow.comm->set_data(&flow);
    flow.comm->set_payload_size(fabric_.units(graph_.tasks[task].bytes));
    flow.comm->set_source(way.from);
    flow.comm->set_destination(way.to);  // both ends known: it starts by itself
  }

  void end_flow(Flow& flow) {
    ended_ = std::move(flow.comm);  // SimGrid still touches it after this callback
    idle_flows_.push_back(&flow);
    finish(flow.task);
    start_ready();
  }

  void finish(std::uint32_t task) {
    intervals_[task].end_s = s4u::Engine::get_clock();
    ++finished_;
    for (auto [next, end] = boost::adjacent_vertices(task, graph_.dependencies); next != end;
         ++next)
      if (--waiting_for_[*next] == 0) ready_.push_back(*next);
  }

  const TaskGraph& graph_;
  const Fabric& fabric_;
  std::vector<Interval> intervals_;
  std::vector<std::uint32_t> waiting_for_;  ///< predecessors that have not ended
  std::deque<Flow> flows_;                  ///< as many as were ever alive at once
  std::vector<Flow*> idle_flows_;
  s4u::CommPtr ended_;
  std::vector<std::uint32_t> ready_;
  std::size_t finished_ = 0;
};

std::vector<Interval> simulate(const TaskGraph& graph, const Platform& platform) {
  Arguments arguments(engine_options(graph));
  // The process ends right after: taking the engine apart would cost more than it gives.
  auto* engine = new s4u::Engine(arguments.count(), arguments.values());
  auto* fabric = new Fabric(*engine, graph, platform);
  auto* execution = new Execution(graph, *fabric);
  execution->start_sources();
  engine->run();
  if (execution->unfinished() > 0)
    throw std::runtime_error(std::to_string(execution->unfinished()) + " of " +
                             std::to_string(graph.tasks.size()) + " tasks never finished");
  return execution->take();
}

}  // namespace

Result<Timeline> simgrid_run(const TaskGraph& graph, const Platform& platform) {
  if (graph.tasks.empty()) return Timeline{};
  Result<std::vector<Interval>> intervals = run_in_child([&] { return simulate(graph, platform); });
  if (!intervals) return fail(std::move(intervals.error()));
  return Timeline{std::move(*intervals)};
}

}  // namespace pipecast

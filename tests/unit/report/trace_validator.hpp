#pragma once
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace pipecast::testing {

/// What Chrome's and Perfetto's importers ask of a trace; every violation is a sentence.
class TraceValidator {
 public:
  explicit TraceValidator(const nlohmann::json& trace) {
    if (!trace.is_object() || !trace.contains("traceEvents") || !trace["traceEvents"].is_array()) {
      faults_.push_back("there is no traceEvents array");
      return;
    }
    for (const auto& event : trace["traceEvents"]) take(event);
    for (auto& [track, slices] : slices_) check_nesting(track, slices);
    check_names();
    check_flows();
  }

  const std::vector<std::string>& faults() const { return faults_; }

 private:
  using Track = std::pair<std::int64_t, std::int64_t>;
  struct Slice {
    std::int64_t start_ns;
    std::int64_t end_ns;
  };
  struct FlowEnd {
    Track track;
    std::int64_t at_ns;
    std::string name;
  };

  void fault(const std::string& message, const nlohmann::json& event) {
    if (faults_.size() < 20) faults_.push_back(message + ": " + event.dump());
  }

  /// The file holds decimals of a microsecond; whole nanoseconds are what they stand for.
  static std::int64_t nanoseconds(const nlohmann::json& number) {
    return std::llround(number.get<double>() * 1000);
  }

  void take(const nlohmann::json& event) {
    const std::string phase = event.value("ph", "");
    if (!event.contains("pid") || !event["pid"].is_number_integer())
      return fault("pid is not an integer", event);
    if (!event.contains("name") || !event["name"].is_string()) return fault("no name", event);
    if (phase == "M") return take_metadata(event);
    if (!event.contains("ts") || !event["ts"].is_number() || event["ts"].get<double>() < 0)
      return fault("ts is missing or negative", event);
    if (phase == "C") return take_counter(event);
    if (!event.contains("tid") || !event["tid"].is_number_integer())
      return fault("tid is not an integer", event);
    if (phase == "X") return take_slice(event);
    if (phase == "s" || phase == "f") return take_flow(event, phase);
    fault("unknown phase", event);
  }

  void take_metadata(const nlohmann::json& event) {
    const std::string name = event["name"];
    if (name == "process_name")
      processes_[event["pid"].get<std::int64_t>()] = event["args"]["name"];
    if (name == "thread_name") threads_[{event["pid"], event["tid"]}] = event["args"]["name"];
    const bool sorts = name.find("sort_index") != std::string::npos;
    if (!event.contains("args") || !event["args"].contains(sorts ? "sort_index" : "name"))
      fault("metadata without its argument", event);
  }

  void take_counter(const nlohmann::json& event) {
    if (!event.contains("args") || event["args"].empty()) return fault("no series", event);
    for (const auto& value : event["args"])
      if (!value.is_number() || value.get<double>() < 0) fault("a series is not a number", event);
    std::int64_t& last = counter_time_[{event["pid"], event["name"].get<std::string>()}];
    if (nanoseconds(event["ts"]) < last) fault("a counter goes back in time", event);
    last = nanoseconds(event["ts"]);
    std::string series;
    for (const auto& item : event["args"].items()) series += item.key() + ",";
    auto& known = counter_series_[{event["pid"], event["name"].get<std::string>()}];
    if (!known.empty() && known != series) fault("the series of a counter change", event);
    known = series;
  }

  void take_slice(const nlohmann::json& event) {
    if (!event.contains("dur") || !event["dur"].is_number() || event["dur"].get<double>() < 0)
      return fault("dur is missing or negative", event);
    if (!event.contains("cat") || !event["cat"].is_string()) return fault("no cat", event);
    const std::int64_t start = nanoseconds(event["ts"]);
    slices_[{event["pid"], event["tid"]}].push_back({start, start + nanoseconds(event["dur"])});
  }

  void take_flow(const nlohmann::json& event, const std::string& phase) {
    if (!event.contains("id") || !event["id"].is_number_integer())
      return fault("flow id is not an integer", event);
    if (phase == "f" && event.value("bp", "") != "e") fault("flow end without bp:e", event);
    auto& ends = phase == "s" ? starts_ : finishes_;
    if (!ends.emplace(event["id"].get<std::int64_t>(),
                      FlowEnd{{event["pid"], event["tid"]},
                              nanoseconds(event["ts"]),
                              event["name"].get<std::string>() + event.value("cat", "")})
             .second)
      fault("flow id used twice", event);
  }

  void check_nesting(const Track& track, std::vector<Slice>& slices) {
    std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    });
    std::vector<std::int64_t> open;
    for (const Slice& slice : slices) {
      while (!open.empty() && open.back() <= slice.start_ns) open.pop_back();
      if (!open.empty() && slice.end_ns > open.back())
        faults_.push_back("slices overlap on process " + std::to_string(track.first) + " thread " +
                          std::to_string(track.second) + " at " + std::to_string(slice.start_ns));
      open.push_back(slice.end_ns);
    }
  }

  void check_names() {
    for (const auto& [track, slices] : slices_) {
      if (!threads_.contains(track)) faults_.push_back("a thread has no name");
      if (!processes_.contains(track.first)) faults_.push_back("a process has no name");
    }
  }

  bool has_slice_at(const Track& track, std::int64_t at_ns) const {
    const auto found = slices_.find(track);
    if (found == slices_.end()) return false;
    // Sorted by start: the slices that begin by then, from the back.
    const auto& slices = found->second;
    auto next = std::upper_bound(slices.begin(), slices.end(), at_ns,
                                 [](std::int64_t at, const Slice& s) { return at < s.start_ns; });
    while (next != slices.begin())
      if (at_ns <= (--next)->end_ns) return true;
    return false;
  }

  void check_flows() {
    if (starts_.size() != finishes_.size()) faults_.push_back("flows without an end");
    for (const auto& [id, start] : starts_) {
      const auto finish = finishes_.find(id);
      if (finish == finishes_.end()) {
        faults_.push_back("flow " + std::to_string(id) + " has no end");
        continue;
      }
      if (finish->second.at_ns < start.at_ns || finish->second.name != start.name)
        faults_.push_back("flow " + std::to_string(id) + " ends wrongly");
      if (!has_slice_at(start.track, start.at_ns) ||
          !has_slice_at(finish->second.track, finish->second.at_ns))
        faults_.push_back("flow " + std::to_string(id) + " is bound to no slice");
    }
  }

  std::vector<std::string> faults_;
  std::map<Track, std::vector<Slice>> slices_;
  std::map<std::int64_t, std::string> processes_;
  std::map<Track, std::string> threads_;
  std::map<std::int64_t, FlowEnd> starts_;
  std::map<std::int64_t, FlowEnd> finishes_;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> counter_time_;
  std::map<std::pair<std::int64_t, std::string>, std::string> counter_series_;
};

}  // namespace pipecast::testing

#include "sim/report/page_timeline.hpp"

#include <algorithm>
#include <cmath>

#include "sim/report/page_json.hpp"

namespace pipecast {
namespace {

constexpr double kTicks = 4e9;  ///< of a whole timeline; fits 32 bits
constexpr std::uint8_t kCriticalFlag = 1;

class Ticks {
 public:
  explicit Ticks(double length_s) : per_second_(length_s > 0 ? kTicks / length_s : 0) {}
  std::uint32_t of(double time_s) const {
    return static_cast<std::uint32_t>(std::llround(std::clamp(time_s * per_second_, 0.0, kTicks)));
  }

 private:
  double per_second_;
};

/// Starts as distances from the end before, and lengths: small numbers that repeat.
struct Spans {
  std::vector<std::uint32_t> gaps;
  std::vector<std::uint32_t> lengths;
  std::uint32_t now = 0;

  void add(const Ticks& ticks, double start_s, double end_s) {
    const std::uint32_t start = std::max(ticks.of(start_s), now);
    const std::uint32_t end = std::max(ticks.of(end_s), start);
    gaps.push_back(start - now);
    lengths.push_back(end - start);
    now = end;
  }
  void write(PageJson& json) const { json.key("gap").packed(gaps).key("length").packed(lengths); }
};

void write_boxes(PageJson& json, const TimelineData& timeline, const Ticks& ticks) {
  Spans spans;
  std::vector<std::int32_t> stages;
  std::vector<std::int32_t> microbatches;
  std::vector<std::uint8_t> kinds;
  std::vector<std::uint8_t> chunks;
  std::vector<std::uint8_t> flags;
  for (const TimelineLine& line : timeline.lines) {
    spans.now = 0;
    for (const TimelineBox& box : line.boxes) {
      spans.add(ticks, box.start_s, box.end_s);
      stages.push_back(box.op.stage.value);
      microbatches.push_back(box.op.microbatch.value);
      kinds.push_back(static_cast<std::uint8_t>(box.op.kind));
      chunks.push_back(box.chunk);
      flags.push_back(box.critical ? kCriticalFlag : std::uint8_t{0});
    }
  }
  json.key("boxes").open_object();
  spans.write(json);
  json.key("stage").packed_differences(stages).key("microbatch").packed_differences(microbatches);
  json.key("kind").packed(kinds).key("chunk").packed(chunks).key("flags").packed(flags);
  json.close_object();
}

void write_idle(PageJson& json, const TimelineData& timeline, const Ticks& ticks) {
  Spans spans;
  std::vector<std::uint8_t> codes;
  for (const TimelineLine& line : timeline.lines) {
    spans.now = 0;
    for (const IdleStretch& stretch : line.idle) {
      spans.add(ticks, stretch.start_s, stretch.end_s);
      codes.push_back(static_cast<std::uint8_t>(static_cast<unsigned>(stretch.phase) +
                                                4 * static_cast<unsigned>(stretch.cause)));
    }
  }
  json.key("idle").open_object();
  spans.write(json);
  json.key("code").packed(codes).close_object();
}

void write_messages(PageJson& json, const TimelineData& timeline, const Ticks& ticks) {
  std::vector<std::int32_t> starts;
  std::vector<std::uint32_t> lengths;
  std::vector<std::int32_t> stages;
  std::vector<std::int32_t> microbatches;
  std::vector<std::int32_t> from;
  std::vector<std::int32_t> to;
  std::vector<std::uint8_t> kinds;
  std::vector<std::uint8_t> flags;
  std::vector<double> bytes;
  for (const TimelineMessage& message : timeline.messages) {
    const std::uint32_t start = ticks.of(message.start_s);
    starts.push_back(static_cast<std::int32_t>(start));  // wraps, and back on reading
    lengths.push_back(std::max(ticks.of(message.end_s), start) - start);
    stages.push_back(message.stage.value);
    microbatches.push_back(message.microbatch.value);
    from.push_back(message.from.value);
    to.push_back(message.to.value);
    kinds.push_back(static_cast<std::uint8_t>(message.kind));
    flags.push_back(message.critical ? kCriticalFlag : std::uint8_t{0});
    bytes.push_back(message.bytes);
  }
  json.key("messages").open_object();
  json.key("start").packed_differences(starts).key("length").packed(lengths);
  json.key("stage").packed_differences(stages).key("microbatch").packed_differences(microbatches);
  json.key("from").packed_differences(from).key("to").packed_differences(to);
  json.key("kind").packed(kinds).key("flags").packed(flags).key("bytes").numbers(bytes);
  json.close_object();
}

void write_lines(PageJson& json, const TimelineData& timeline) {
  json.key("lines").open_list();
  for (const TimelineLine& line : timeline.lines) {
    json.open_object().key("name").text(line.name).key("rank").integer(line.rank.value);
    if (line.thin) json.key("thin").flag(true);
    json.key("boxes").integer(static_cast<std::int64_t>(line.boxes.size()));
    json.key("idle").integer(static_cast<std::int64_t>(line.idle.size())).close_object();
  }
  json.close_list();
}

}  // namespace

PackedTimeline pack_timeline(const TimelineData& timeline) {
  const Ticks ticks(timeline.length_s);
  PageJson json;
  json.open_object().key("name").text(timeline.name).key("length_s").number(timeline.length_s);
  json.key("ticks").number(kTicks).key("stages").integer(timeline.stages);
  json.key("many_chunks").flag(timeline.many_chunks);
  json.key("kinds").open_list();
  for (int kind = 0; kind <= static_cast<int>(OpKind::Gap); ++kind)
    json.text(op_word(static_cast<OpKind>(kind)));
  json.close_list().key("notes").open_list();
  for (const std::string& note : timeline.notes) json.text(note);
  json.close_list();
  write_lines(json, timeline);
  write_boxes(json, timeline, ticks);
  write_idle(json, timeline, ticks);
  write_messages(json, timeline, ticks);
  json.close_object();
  return {timeline.name, json.take()};
}

}  // namespace pipecast

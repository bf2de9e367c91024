#pragma once
#include <cmath>
#include <cstdint>
#include <string_view>

#include "sim/model/program.hpp"
#include "sim/report/text_sink.hpp"

namespace pipecast {

/// Whole nanoseconds of a time in seconds. Rounding both ends of a slice, instead of its length,
/// keeps neighbours from overlapping in the file.
inline std::int64_t to_nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

/// A process and one of its threads in a trace.
struct TrackId {
  std::int64_t process = 0;
  std::int64_t thread = 0;
};

/// Writes the events of a Chrome trace, one a line, times in microseconds with up to three
/// decimals. Categories and colours are words that need no escaping.
class TraceEvents {
 public:
  explicit TraceEvents(TextSink& sink) : sink_(sink) {}

  void name_process(std::int64_t process, std::string_view name, std::int64_t sort_index) {
    head("M").text(",\"pid\":").integer(process).text(R"(,"name":"process_name","args":{"name":)");
    sink_.quoted(name).text("}}");
    head("M").text(",\"pid\":").integer(process);
    sink_.text(R"(,"name":"process_sort_index","args":{"sort_index":)").integer(sort_index);
    sink_.text("}}");
  }

  void name_thread(TrackId track, std::string_view name, std::int64_t sort_index) {
    on_track("M", track).text(R"(,"name":"thread_name","args":{"name":)").quoted(name).text("}}");
    on_track("M", track).text(R"(,"name":"thread_sort_index","args":{"sort_index":)");
    sink_.integer(sort_index).text("}}");
  }

  /// A complete event up to the opening quote of its name; the caller writes the name and closes
  /// the event with close_slice().
  TextSink& open_slice(TrackId track, std::string_view category) {
    return on_track("X", track).text(",\"cat\":\"").text(category).text("\",\"name\":\"");
  }
  /// Closing quote of the name, times and colour; the caller adds members and the last brace.
  TextSink& close_slice(std::int64_t start_ns, std::int64_t end_ns, std::string_view color) {
    times(start_ns, end_ns);
    return sink_.text(",\"cname\":\"").text(color).text("\"");
  }
  TextSink& times(std::int64_t start_ns, std::int64_t end_ns) {
    sink_.text("\",\"ts\":").thousandths(start_ns).text(",\"dur\":");
    return sink_.thousandths(end_ns - start_ns);
  }

  enum class FlowEnd : std::uint8_t { Start, Finish };
  /// One end of an arrow between two slices; an end belongs to the slice around it in its track.
  void flow(FlowEnd end, TrackId track, std::int64_t id, std::string_view name,
            std::int64_t at_ns) {
    on_track(end == FlowEnd::Start ? "s" : "f", track);
    if (end == FlowEnd::Finish) sink_.text(R"(,"bp":"e")");
    sink_.text(R"(,"cat":"p2p","name":")").text(name).text("\",\"id\":").integer(id);
    sink_.text(",\"ts\":").thousandths(at_ns).text("}");
  }

  /// A counter event up to its open `args`; the caller adds the series and `}}`.
  TextSink& open_counter(std::int64_t process, std::string_view quoted_name, std::int64_t at_ns) {
    head("C").text(",\"pid\":").integer(process).text(",\"name\":").text(quoted_name);
    return sink_.text(",\"ts\":").thousandths(at_ns).text(",\"args\":{");
  }

  /// `3F7`
  void op_name(const Op& op) {
    if (op.stage.value >= 0) sink_.integer(op.stage.value);
    sink_.text(op_word(op.kind));
    if (op.microbatch.value >= 0) sink_.integer(op.microbatch.value);
  }

 private:
  TextSink& head(std::string_view phase) {
    sink_.text(first_ ? "\n{\"ph\":\"" : ",\n{\"ph\":\"").text(phase).text("\"");
    first_ = false;
    return sink_;
  }
  TextSink& on_track(std::string_view phase, TrackId track) {
    head(phase).text(",\"pid\":").integer(track.process);
    return sink_.text(",\"tid\":").integer(track.thread);
  }

  TextSink& sink_;
  bool first_ = true;
};

}  // namespace pipecast

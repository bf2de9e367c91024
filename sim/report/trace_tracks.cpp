#include "sim/report/trace_tracks.hpp"

#include <fmt/format.h>

#include "sim/graph/task_graph.hpp"

namespace pipecast {

std::string_view kind_color(OpKind kind) {
  switch (kind) {
    case OpKind::Forward:
      return "thread_state_runnable";  // blue
    case OpKind::BackwardFull:
      return "thread_state_running";  // green
    case OpKind::BackwardInput:
      return "rail_response";  // strong blue
    case OpKind::BackwardWeight:
      return "thread_state_unknown";  // brown
    case OpKind::SendForward:
    case OpKind::ReceiveForward:
      return "generic_work";
    case OpKind::SendBackward:
    case OpKind::ReceiveBackward:
      return "thread_state_uninterruptible";  // violet
    case OpKind::Unshard:
    case OpKind::Reshard:
    case OpKind::ReduceGrad:
      return "thread_state_iowait";  // orange
    case OpKind::EvictActivation:
    case OpKind::RestoreActivation:
      return "yellow";
    case OpKind::Optimizer:
      return "olive";
    case OpKind::Gap:
      return "grey";
  }
  return "grey";
}

void write_rank_names(TraceEvents& events, const TraceRun& trace, Rank rank) {
  const DeviceId device = trace.run.device_of_rank[rank.at()];
  events.name_process(
      trace.process(rank),
      fmt::format("{}rank {} ({})", trace.prefix, rank.value, trace.names.of(device)),
      trace.process(rank));
  events.name_thread(trace.compute_track(rank), "compute", 0);
}

void write_idle(TraceEvents& events, TextSink& sink, const TraceRun& trace, Rank rank,
                const IdleStretch& stretch) {
  const std::int64_t start_ns = to_nanoseconds(stretch.start_s);
  const std::int64_t end_ns = to_nanoseconds(stretch.end_s);
  if (start_ns == end_ns) return;
  events.open_slice(trace.compute_track(rank), "bubble");
  std::string_view reason = phase_name(stretch.phase);
  if (stretch.cause == IdleCause::Gap) reason = "gap";
  if (stretch.cause == IdleCause::Transfer) reason = "waiting for transfer";
  sink.text(reason);
  events.close_slice(start_ns, end_ns, "grey").text(R"(,"args":{"reason":")").text(reason);
  if (stretch.message != kNoTask) {
    const Task& message = trace.run.tasks[static_cast<std::size_t>(stretch.message)];
    sink.text(" ");
    events.op_name(
        {.kind = message.kind, .stage = {message.stage}, .microbatch = {message.microbatch}});
  }
  sink.text(R"(","phase":")").text(phase_name(stretch.phase)).text("\"}}");
}

MemoryCounter::MemoryCounter(TraceEvents& events, TextSink& sink, const TraceRun& trace, Rank rank)
    : events_(events), sink_(sink), process_(trace.process(rank)) {
  const RankMemory& memory = trace.held[rank.at()];
  static_series_ =
      fmt::format(R"("params":{},"grads":{},"optimizer":{},"activations":)",
                  format_number(memory.parameters.value), format_number(memory.gradients.value),
                  format_number(memory.optimizer.value));
}

void MemoryCounter::write(std::int64_t at_ns, double activation_bytes) {
  events_.open_counter(process_, "\"memory\"", at_ns).text(static_series_);
  sink_.number(activation_bytes).text("}}");
}

}  // namespace pipecast

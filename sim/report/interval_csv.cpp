#include "sim/graph/task_graph.hpp"
#include "sim/report/collective_stream.hpp"
#include "sim/report/exporters.hpp"
#include "sim/report/memory.hpp"
#include "sim/report/text_sink.hpp"

namespace pipecast {
namespace {

std::string_view stream_name(Stream stream) {
  switch (stream) {
    case Stream::Compute:
      return "compute";
    case Stream::Transfer:
      return "transfer";
    case Stream::Collective:
      return "collective";
  }
  return "?";
}

class RowWriter {
 public:
  explicit RowWriter(TextSink& sink) : sink_(sink) {}

  void row(const Task& task, const Op& op, const Interval& interval, double bytes) {
    sink_.integer(task.rank).text(",").text(stream_name(task.stream)).text(",");
    sink_.text(task.group == GroupFlowOf::None ? op_word(op.kind) : group_word(task.group));
    sink_.text(",");
    index(op.stage.value).text(",");
    index(op.microbatch.value).text(",");
    sink_.number(interval.start_s).text(",").number(interval.end_s).text(",");
    sink_.number(bytes).text(",");
    index(task.peer).text("\n");
  }

 private:
  TextSink& index(std::int32_t number) { return number < 0 ? sink_ : sink_.integer(number); }
  TextSink& sink_;
};

}  // namespace

void write_interval_csv(const RunView& run, std::ostream& out) {
  TextSink sink(out);
  sink.text("rank,stream,kind,stage,microbatch,start_s,end_s,bytes,peer\n");
  RowWriter writer(sink);
  const Backward backward = has_backward(run.program) ? Backward::Present : Backward::Absent;
  for (std::size_t id = 0; id < run.tasks.size(); ++id) {
    const Task& task = run.tasks[id];
    const Interval& interval = run.timeline.intervals[id];
    const bool joins_messages = task.kind == OpKind::Gap && task.seconds == 0;
    const bool within_operation = task.kind == OpKind::Gap && task.stream == Stream::Collective;
    if (joins_messages || within_operation) continue;
    if (!is_work(task) || task.position < 0) {
      const Op op{.kind = task.kind, .stage = {task.stage}, .microbatch = {task.microbatch}};
      writer.row(task, op, interval, task.bytes);
      continue;
    }
    const auto& ops = run.program.ranks[static_cast<std::size_t>(task.rank)];
    for (std::size_t i = 0; i < task.cell_ops; ++i) {
      const Op& op = ops[static_cast<std::size_t>(task.position) + i];
      writer.row(task, op, interval,
                 taken_at_start(run.workload, op).bytes +
                     released_at_end(run.workload, op, backward).bytes);
    }
  }
}

}  // namespace pipecast

#include "sim/graph/head_of_line.hpp"

#include <algorithm>
#include <limits>

#include "sim/graph/rounding.hpp"
#include "sim/graph/transfers_key.hpp"

namespace pipecast {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// What ended last before a transfer could start, by kind of predecessor.
struct Arrivals {
  double produced_s = 0;
  double queue_s = 0;
  std::uint32_t queue_task = kNone;
};

bool produces(const Task& task, const Task& transfer) {
  return is_work(task) && task.rank == transfer.rank;
}

std::vector<Arrivals> arrivals(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<Arrivals> result(graph.tasks.size());
  for (std::uint32_t from = 0; from < graph.tasks.size(); ++from)
    for (auto [next, end] = boost::adjacent_vertices(from, graph.dependencies); next != end;
         ++next) {
      const Task& task = graph.tasks[*next];
      if (!is_transfer(task) || is_exchange(task.kind)) continue;
      const double ended = timeline.intervals[from].end_s;
      Arrivals& arrival = result[*next];
      if (produces(graph.tasks[from], task))
        arrival.produced_s = std::max(arrival.produced_s, ended);
      if (is_transfer(graph.tasks[from]) && ended > arrival.queue_s) {
        arrival.queue_s = ended;
        arrival.queue_task = from;
      }
    }
  return result;
}

}  // namespace

std::int32_t shared_rank(const Task& first, const Task& second) {
  const bool at_sender = second.rank == first.rank || second.rank == first.peer;
  return at_sender ? second.rank : second.peer;
}

Op transfer_end(const Task& transfer, std::int32_t rank) {
  const TransferKey key{transfer.kind == OpKind::SendBackward, transfer.stage, transfer.microbatch};
  return transfer.rank == rank ? send_op(key) : receive_op(key);
}

std::string transfer_text(const Task& transfer, std::int32_t rank) {
  return op_text(transfer_end(transfer, rank));
}

std::vector<HeadOfLine> head_of_line(const TaskGraph& graph, const Timeline& timeline) {
  const std::vector<Arrivals> arrived = arrivals(graph, timeline);
  const double noise_s = rounding_s(makespan(timeline).value);
  std::vector<HeadOfLine> found;
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id) {
    const Arrivals& arrival = arrived[id];
    if (arrival.queue_task == kNone || arrival.queue_s - arrival.produced_s <= noise_s) continue;
    const Task& blocked = graph.tasks[id];
    const Task& blocking = graph.tasks[arrival.queue_task];
    const std::int32_t rank = shared_rank(blocking, blocked);
    found.push_back({{rank},
                     transfer_end(blocked, rank),
                     transfer_end(blocking, rank),
                     arrival.queue_s - arrival.produced_s,
                     {static_cast<std::int32_t>(id)},
                     {static_cast<std::int32_t>(arrival.queue_task)}});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const HeadOfLine& a, const HeadOfLine& b) { return a.seconds > b.seconds; });
  return found;
}

std::vector<std::string> head_of_line_warnings(const std::vector<HeadOfLine>& found,
                                               std::size_t most) {
  std::vector<std::string> lines;
  if (found.empty()) return lines;
  double total = 0;
  for (const HeadOfLine& one : found) total += one.seconds;
  lines.push_back("head-of-line blocking: " + std::to_string(found.size()) +
                  (found.size() == 1 ? " message stood" : " messages stood") +
                  " behind others for " + format(Seconds{total}) + " in all");
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i)
    lines.push_back("rank " + std::to_string(found[i].rank.value) + ": " +
                    op_text(found[i].blocking) + " kept " + op_text(found[i].blocked) +
                    " waiting for " + format(Seconds{found[i].seconds}));
  return lines;
}

}  // namespace pipecast

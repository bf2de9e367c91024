#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/model/timeline.hpp"

namespace pipecast {

/// A message that was ready, but stood behind another one in the queue of a rank.
struct HeadOfLine {
  Rank rank;            ///< whose queue
  Op blocked;           ///< its send or receive that had to stand
  Op blocking;          ///< the send or receive of the same rank it stood behind
  double seconds = 0;   ///< from the end of the blocked message's producer to its start
  TaskId blocked_task;  ///< the two transfers in the graph
  TaskId blocking_task;

  bool operator==(const HeadOfLine&) const = default;
};

/// Every message that started later than its producer ended because of the message before it in a
/// queue (policies Fifo and Blocking): the latest of those before it is named. Longest first, then
/// by task. O(tasks + edges + found · log found).
std::vector<HeadOfLine> head_of_line(const TaskGraph& graph, const Timeline& timeline);

/// Sentences for a report: the sum, then the `most` longest. Empty when nothing stood.
std::vector<std::string> head_of_line_warnings(const std::vector<HeadOfLine>& found,
                                               std::size_t most = 3);

/// The rank in whose queue both transfers are; the sender's of the second when both ends are.
std::int32_t shared_rank(const Task& first, const Task& second);

/// A transfer as the operation of one of its ends: `3SEND_F1` or `4RECV_F1`.
Op transfer_end(const Task& transfer, std::int32_t rank);
std::string transfer_text(const Task& transfer, std::int32_t rank);

}  // namespace pipecast

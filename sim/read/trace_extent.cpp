#include "sim/read/trace_extent.hpp"

#include <algorithm>

namespace pipecast {

SliceSight look_into(const SliceQuestion& question, std::span<const TraceHostOp> host_ops) {
  using Sort = TraceHostOp::Sort;
  const TraceSlice& slice = question.slice;
  SliceSight sight{.begin_us = question.input_us, .end_us = slice.end_us};
  const double silence_us = (slice.end_us - question.input_us) / 2;
  auto op = std::lower_bound(host_ops.begin(), host_ops.end(), question.input_us,
                             [](const TraceHostOp& a, double at) { return a.begin_us < at; });
  for (; op != host_ops.end() && op->begin_us < slice.end_us; ++op) {
    if (op->thread != slice.thread) continue;
    const bool begun = sight.first_op_us >= 0;
    if (!begun && (op->sort == Sort::Posting || op->sort == Sort::Detach)) continue;
    if (!begun) sight.first_op_us = op->begin_us;
    const bool posts = op->sort == Sort::Posting && question.posts_inside;
    const bool is_loss =
        question.is_forward && begun && op->begin_us - sight.last_op_end_us > silence_us;
    if (posts || is_loss) {
      sight.end_us = op->begin_us;
      break;
    }
    if (op->sort == Sort::Autograd && sight.cut_us < 0 && op->begin_us >= question.second_input_us)
      sight.cut_us = op->begin_us;
    sight.last_op_end_us = std::max(sight.last_op_end_us, op->begin_us + op->length_us);
  }
  return sight;
}

double usual_head_us(std::span<const SliceSight> sights) {
  std::vector<double> heads;
  for (const SliceSight& sight : sights)
    if (sight.first_op_us >= 0) heads.push_back(sight.first_op_us - sight.begin_us);
  if (heads.empty()) return 0;
  const auto middle = heads.begin() + static_cast<std::ptrdiff_t>(heads.size() / 2);
  std::nth_element(heads.begin(), middle, heads.end());
  return *middle;
}

SliceExtent extent_of(const SliceSight& sight, double head_us) {
  SliceExtent extent;
  extent.begin_us = std::min(sight.begin_us + head_us, sight.end_us);
  if (sight.first_op_us >= 0) extent.begin_us = std::min(extent.begin_us, sight.first_op_us);
  extent.end_us = std::max(extent.begin_us, sight.end_us - head_us);
  if (sight.last_op_end_us > extent.end_us)
    extent.end_us = std::min(sight.last_op_end_us, sight.end_us);
  extent.cut_us = sight.cut_us;
  if (extent.cut_us <= extent.begin_us || extent.cut_us >= extent.end_us)
    extent.cut_us = (extent.begin_us + extent.end_us) / 2;
  return extent;
}

}  // namespace pipecast

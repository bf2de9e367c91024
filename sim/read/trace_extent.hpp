#pragma once
#include <span>
#include <vector>

#include "sim/read/trace_import.hpp"

namespace pipecast {

/// Where the computation lies within a slice of the host, in microseconds. Between the slice's
/// bounds there are also the wait for the input, the runtime's own work before and after, the loss
/// of the last stage, and, in the classes that are no runtime, the posting of messages.
struct SliceExtent {
  double begin_us = 0;
  double cut_us = -1;  ///< of a pair: where the second operation begins
  double end_us = 0;
};

/// What the host's operations say about one slice, before the runtime's own work is known.
struct SliceSight {
  double begin_us = 0;         ///< the slice begins, or the last awaited message is there
  double first_op_us = -1;     ///< the first host operation since; −1: none
  double last_op_end_us = -1;  ///< the last of the computation's host operations ends
  double cut_us = -1;          ///< the first autograd operation since the second input is there
  double end_us = 0;           ///< the slice ends, or what follows the computation begins
};

/// The question about a slice.
struct SliceQuestion {
  const TraceSlice& slice;
  double input_us = 0;         ///< when the input of the operation was there
  double second_input_us = 0;  ///< of a pair: that of its second operation
  bool is_forward = false;     ///< one forward alone: a loss may follow
  bool posts_inside = false;   ///< sends are posted before the slice ends
};

/// Looks through the slice's host operations, which are sorted by their begin. Posting and
/// detaching are never the first of a computation. A forward's host operations after a silence
/// longer than half of the slice are the loss, which the runtime computes after the stage: a stage
/// that works on the host leaves no such silence. O(log all + operations in the slice).
SliceSight look_into(const SliceQuestion& question, std::span<const TraceHostOp> host_ops);

/// The time a runtime usually takes from having the input to the first host operation: the median
/// over the slices that have one; 0 without any.
double usual_head_us(std::span<const SliceSight> sights);

/// The operation begins with its first host operation, or after the usual head if that is earlier:
/// a process that loses its core before its first host operation computes already. Nothing in a
/// host's trace marks the end of a computation, so the runtime is taken to need as long after it
/// as before; host operations are never cut off.
SliceExtent extent_of(const SliceSight& sight, double head_us);

}  // namespace pipecast

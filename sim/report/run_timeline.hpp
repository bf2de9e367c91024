#pragma once
#include <cstddef>

#include "sim/report/page_timeline.hpp"
#include "sim/report/run_view.hpp"

namespace pipecast {

struct RunTimelineOptions {
  /// Beyond, evenly spaced ranks are kept, and of a rank that alone has more, its first boxes; the
  /// timeline's notes say so.
  std::size_t most_boxes = 1'500'000;
};

/// A run as a page's timeline: what each rank computes, its idle stretches with their causes, its
/// collectives, the messages, and which of them lie on the critical path. O(tasks · log tasks).
TimelineData run_timeline(const RunView& run, const RunTimelineOptions& options = {});

}  // namespace pipecast

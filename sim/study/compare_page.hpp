#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/page.hpp"
#include "sim/report/run_view.hpp"
#include "sim/study/compare.hpp"

namespace pipecast {

/// What the page of a comparison keeps of a run: its timeline and the details below it, packed.
struct ComparedRun {
  std::string schedule;
  PackedTimeline timeline;
  PageSection details;
};
/// `most_boxes` bounds the timeline, see RunTimelineOptions.
ComparedRun compared_run(const RunView& run, std::size_t most_boxes);

/// Boxes that each of `runs` timelines may have, so that the page of all stays within bounds.
std::size_t compared_boxes(std::size_t runs);

/// The table of the rows, step time and memory of each as charts, the timelines above each other
/// (the fastest and 1f1b at first), and the details of one schedule at a time.
Page compare_page(std::string_view scenario, std::string_view engine,
                  std::string_view scenario_text, const std::vector<CompareRow>& rows,
                  std::vector<ComparedRun> runs);

}  // namespace pipecast

#pragma once
#include <iosfwd>

#include "sim/report/run_view.hpp"

namespace pipecast {

/// One HTML file about a run that opens offline: the figures with both bubble definitions by name,
/// a timeline to zoom, pan and ask, where the time of each rank goes, the waterfall from the ideal
/// step to the predicted one, memory over time with the capacity of the device, links, tables, and
/// the scenario that made it. Its size is bounded: at most some 15 bytes an operation, and of runs
/// with more than 1.5 million operations some ranks. O(tasks · log tasks).
void write_html_report(const RunView& run, std::ostream& out);

}  // namespace pipecast

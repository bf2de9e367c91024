#pragma once
#include <iosfwd>

#include "sim/report/run_view.hpp"

namespace pipecast {

/// One HTML file about a run that opens offline, in light and dark, and prints: the figures with
/// both bubble definitions by name, the pipeline diagram, idle time by cause per rank, activation
/// memory over time with the capacity of the device, stages, links and warnings. No script and
/// nothing fetched. Its size is bounded: the diagram and the curves are compressed for large runs.
/// O(operations + ranks · columns).
void write_html_report(const RunView& run, std::ostream& out);

}  // namespace pipecast

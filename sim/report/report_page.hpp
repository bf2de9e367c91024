#pragma once
#include <vector>

#include "sim/report/page.hpp"
#include "sim/report/run_view.hpp"

namespace pipecast {

/// The parts of a report about one run, ready to be put on pages of one or several runs.
std::vector<PageBlock> figure_blocks(const RunView& run);
/// Where the time goes: waterfall, critical path, idle time per rank.
std::vector<PageBlock> time_blocks(const RunView& run);
/// Memory over time per rank with the capacity, and the peak by component.
std::vector<PageBlock> memory_blocks(const RunView& run);
/// Utilisation of the busiest links over time, and tables of links.
std::vector<PageBlock> link_blocks(const RunView& run);
/// Ranks and stages as tables, and the scenario that made the run.
std::vector<PageBlock> table_blocks(const RunView& run);

/// Everything above below the run's timeline.
Page run_page(const RunView& run);

/// `zb-h1: 8 ranks, 1 chunk per rank, 24 microbatches; engine simgrid; platform dgx-a100`
std::string run_subtitle(const RunView& run);

/// A step-shaped curve of at most `most` points per `length_s`, none of its peaks lost. O(points).
PageSeries bounded_steps(std::vector<double> times_s, std::vector<double> values, double length_s,
                         std::size_t most);

}  // namespace pipecast

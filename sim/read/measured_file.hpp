#pragma once
#include <span>
#include <string>
#include <string_view>

#include "sim/base/diagnostic.hpp"
#include "sim/model/measured_run.hpp"

namespace pipecast {

/// Measured timelines from files, plain or gzip:
///
/// - Kineto / Chrome traces, one file per rank (`distributedInfo.rank`, else `rank3` in the name);
/// - CSV of intervals with a header: rank, stage (default: the rank), kind (F B I W, fwd, bwd),
///   microbatch, begin and end as `begin_us`, `start_ms`, `end_s` …, and step or iteration;
/// - lists of begins and ends by rank in JSON or YAML: `iterations: [{iteration, ranks: [{rank,
///   total_ms, fwd: [[begin, end], …], bwd}]}]`, or Primus' pp_rank_R.json with `fwd_start`.
///
/// Checked by tidy(). Errors: unreadable, broken or mixed files, each with its name; several files
/// for one rank; a rank missing.
Result<MeasuredRun> read_measured_files(std::span<const std::string> paths);

/// A whole CSV of intervals.
Result<MeasuredRun> read_interval_csv(std::string_view text, const std::string& file);

/// A file of lists by rank; `rank_of_file` is the rank of a file that names none.
Result<MeasuredRun> read_interval_tree(std::string_view text, const std::string& file,
                                       int rank_of_file);

}  // namespace pipecast

#pragma once
#include "sim/report/page.hpp"
#include "sim/study/analysis.hpp"

namespace pipecast {

/// The answers of a study as one page: the ranked candidates, step time against money or memory,
/// what holds each one back, what the winner's place hangs on, how candidates fare when ranges are
/// drawn, where clusters cost the same, and the winner's command lines. Candidates that fell out
/// are counted by reason, the nearest with theirs. Runs the longest path for sensitivity and
/// sampling: about ten times for the winner, and samples × 20 candidates.
Page study_page(const Study& study, Evaluator& evaluator, const Ranking& ranking);

}  // namespace pipecast

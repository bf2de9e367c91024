#include "tools/memory_fit.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pipecast {
namespace {

Bytes needed_by(const RunView& run, const RankSummary& rank) {
  return run.footprints.empty() ? rank.peak_memory : run.footprints[rank.rank.at()].needed;
}

}  // namespace

Diagnostics does_not_fit(const RunView& run, const SourceSpan& platform) {
  const std::vector<RankSummary>& ranks = run.summary.ranks;
  const auto count =
      std::count_if(ranks.begin(), ranks.end(), [](const RankSummary& rank) { return !rank.fits; });
  if (count == 0) return {};
  const RankSummary& worst = *std::max_element(
      ranks.begin(), ranks.end(), [&](const RankSummary& a, const RankSummary& b) {
        return needed_by(run, a) - a.capacity < needed_by(run, b) - b.capacity;
      });
  return {
      infeasible(fmt::format("{} of {} ranks need more memory than their device has; rank {} "
                             "needs {} of {}, {} of it for weights, gradients and optimizer",
                             count, ranks.size(), worst.rank.value, format(needed_by(run, worst)),
                             format(worst.capacity), format(worst.static_memory)),
                 "more ranks or chunks, another schedule, or recomputation", platform)};
}

}  // namespace pipecast

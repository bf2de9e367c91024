#include "tools/memory_fit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/footprint_groups.hpp"

namespace pipecast {
namespace {

Bytes needed_by(const RunView& run, const RankSummary& rank) {
  return run.footprints.empty() ? rank.peak_memory : run.footprints[rank.rank.at()].needed;
}

/// The rank that misses most; where none does, one whose device says nothing, or the fullest.
const RankSummary& fullest_of(const RunView& run) {
  const auto less = [&](const RankSummary& a, const RankSummary& b) {
    if (a.fits != b.fits) return a.fits;
    return needed_by(run, a) - a.capacity < needed_by(run, b) - b.capacity;
  };
  return *std::max_element(run.summary.ranks.begin(), run.summary.ranks.end(), less);
}

}  // namespace

Diagnostics does_not_fit(const RunView& run, const SourceSpan& platform) {
  const std::vector<RankSummary>& ranks = run.summary.ranks;
  const auto count =
      std::count_if(ranks.begin(), ranks.end(), [](const RankSummary& rank) { return !rank.fits; });
  if (count == 0) return {};
  const RankSummary& worst = fullest_of(run);
  return {
      infeasible(fmt::format("{} of {} ranks need more memory than their device has; rank {} "
                             "needs {} of {}, {} of it for weights, gradients and optimizer",
                             count, ranks.size(), worst.rank.value, format(needed_by(run, worst)),
                             format(worst.capacity), format(worst.static_memory)),
                 "more ranks or chunks, another schedule, or recomputation", platform)};
}

std::string memory_verdict(const RunView& run) {
  const RankSummary& fullest = fullest_of(run);
  const Fit fit = fit_of(fullest.capacity, fullest.fits);
  if (fit == Fit::Unknown)
    return fmt::format("{}: rank {} needs {}, its device does not say what it has", fit_word(fit),
                       fullest.rank.value, format(needed_by(run, fullest)));
  return fmt::format("{}, the fullest is rank {} with {} of {}", fit_word(fit), fullest.rank.value,
                     format(needed_by(run, fullest)), format(fullest.capacity));
}

}  // namespace pipecast

#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "sim/run/longest_path.hpp"
#include "sim/run/simgrid_run.hpp"
#include "tests/support/side_by_side.hpp"

namespace pipecast::testing {

inline constexpr double kAgreement = 1e-9;  ///< relative, of each start and each end

/// What each part of a batch is, for messages.
using Labels = std::vector<std::string>;

enum class Verdict { Equal, NotEarlier };

/// What is wrong with one date of a task, or nothing.
inline bool agrees(Verdict verdict, double simgrid_s, double longest_path_s) {
  const double slack = kAgreement * std::max(std::abs(simgrid_s), std::abs(longest_path_s));
  const double late_s = simgrid_s - longest_path_s;
  return late_s >= -slack && (verdict == Verdict::NotEarlier || late_s <= slack);
}

/// The other evaluator of a comparison.
using Evaluator = Timeline (*)(const Placed&);

inline Timeline by_longest_path(const Placed& placed) { return longest_path(placed.graph); }

inline std::string text(const Interval& interval) {
  return std::to_string(interval.start_s) + " … " + std::to_string(interval.end_s) + " s";
}

/// Reports the first task of a part on which the two disagree.
inline void expect_same_dates(std::span<const Interval> simgrid, const Timeline& expected,
                              const std::string& label, Verdict verdict) {
  for (std::size_t task = 0; task < simgrid.size(); ++task) {
    const Interval& ours = simgrid[task];
    const Interval& theirs = expected.intervals[task];
    if (agrees(verdict, ours.start_s, theirs.start_s) && agrees(verdict, ours.end_s, theirs.end_s))
      continue;
    ADD_FAILURE() << label << ": task " << task << " of " << simgrid.size() << " ran " << text(ours)
                  << " with SimGrid, " << text(theirs) << " with the other evaluator; apart by "
                  << ours.start_s - theirs.start_s << " and " << ours.end_s - theirs.end_s << " s";
    return;
  }
}

/// Runs all parts in one SimGrid process and compares every start and end with the other evaluator.
/// Returns the number of tasks compared.
inline std::size_t expect_agreement(const std::vector<Placed>& parts, const Labels& labels,
                                    Verdict verdict, Evaluator other = by_longest_path) {
  const Placed whole = side_by_side(parts);
  const Result<Timeline> simgrid = simgrid_run(whole.graph, whole.platform);
  if (!simgrid) {
    ADD_FAILURE() << labels.front() << " …: " << render(simgrid.error());
    return 0;
  }
  std::span<const Interval> rest(simgrid->intervals);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::size_t tasks = parts[part].graph.tasks.size();
    expect_same_dates(rest.first(tasks), other(parts[part]), labels[part], verdict);
    rest = rest.subspan(tasks);
  }
  return simgrid->intervals.size();
}

/// Collects parts and compares them a batch at a time, so that a process is forked per batch.
class Batches {
 public:
  Batches(Verdict verdict, std::size_t size, Evaluator other = by_longest_path)
      : verdict_(verdict), size_(size), other_(other) {}

  void add(Placed part, std::string label) {
    parts_.push_back(std::move(part));
    labels_.push_back(std::move(label));
    if (parts_.size() == size_) flush();
  }
  void flush() {
    if (!parts_.empty()) compared_ += expect_agreement(parts_, labels_, verdict_, other_);
    parts_.clear();
    labels_.clear();
  }
  std::size_t compared_tasks() const { return compared_; }

 private:
  Verdict verdict_;
  std::size_t size_;
  Evaluator other_;
  std::vector<Placed> parts_;
  Labels labels_;
  std::size_t compared_ = 0;
};

}  // namespace pipecast::testing

#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

/// Runs all parts in one SimGrid process and compares every start and end with the longest path.
/// Stops at the first disagreement of a part. Returns the number of tasks compared.
inline std::size_t expect_agreement(const std::vector<Placed>& parts, const Labels& labels,
                                    Verdict verdict) {
  const Placed whole = side_by_side(parts);
  const Result<Timeline> simgrid = simgrid_run(whole.graph, whole.platform);
  if (!simgrid) {
    ADD_FAILURE() << labels.front() << " …: " << render(simgrid.error());
    return 0;
  }
  const Timeline expected = longest_path(whole.graph);
  std::size_t task = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::size_t first = task;
    task += parts[part].graph.tasks.size();
    for (std::size_t id = first; id < task; ++id) {
      const Interval& ours = simgrid->intervals[id];
      const Interval& theirs = expected.intervals[id];
      if (agrees(verdict, ours.start_s, theirs.start_s) &&
          agrees(verdict, ours.end_s, theirs.end_s))
        continue;
      ADD_FAILURE() << labels[part] << ": task " << id - first << " of "
                    << parts[part].graph.tasks.size() << " ran " << ours.start_s << " … "
                    << ours.end_s << " s with SimGrid, " << theirs.start_s << " … " << theirs.end_s
                    << " s on the longest path";
      break;
    }
  }
  return task;
}

/// Collects parts and compares them a batch at a time, so that a process is forked per batch.
class Batches {
 public:
  explicit Batches(Verdict verdict, std::size_t size) : verdict_(verdict), size_(size) {}

  void add(Placed part, std::string label) {
    parts_.push_back(std::move(part));
    labels_.push_back(std::move(label));
    if (parts_.size() == size_) flush();
  }
  void flush() {
    if (!parts_.empty()) compared_ += expect_agreement(parts_, labels_, verdict_);
    parts_.clear();
    labels_.clear();
  }
  std::size_t compared_tasks() const { return compared_; }

 private:
  Verdict verdict_;
  std::size_t size_;
  std::vector<Placed> parts_;
  Labels labels_;
  std::size_t compared_ = 0;
};

}  // namespace pipecast::testing

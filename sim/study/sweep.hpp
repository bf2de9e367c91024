#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/read/study.hpp"
#include "sim/study/store.hpp"

namespace pipecast {

/// Part `index` of `count`, from 1; 0 and `count` are the same part, so that arrays that count from
/// 0 work too.
struct Shard {
  int index = 1;
  int count = 1;

  bool operator==(const Shard&) const = default;
};

/// The candidates of a part, increasing. Candidates go, largest estimated work first, to the part
/// that has least. The parts of a study are disjoint and cover it. O(candidates · log).
std::vector<std::int64_t> shard_candidates(const Study& study, const Shard& shard);

/// Everything that decides what a candidate's row says, as 16 hexadecimal digits: base scenario,
/// axes, clusters, presets, this program's results version. Prices, constraints and objectives are
/// not among it: they are judged when rows are read.
std::string fingerprint(const Study& study);

struct SweepProgress {
  Tier tier = Tier::Screening;
  std::int64_t done = 0;
  std::int64_t total = 0;
  std::int64_t resumed = 0;  ///< of `done`, rows that were there before
};

struct SweepOptions {
  int jobs = 1;
  Shard shard;
  int stop_descriptor = -1;  ///< as PoolOptions
  std::function<void(const SweepProgress&)> progress;
};

enum class SweepEnd : std::uint8_t { Done, Stopped };

/// Screens every candidate of the shard and lets SimGrid run those that plan_refinement() chooses,
/// as far as the store does not have their rows; so the same call again resumes. Rows reach the
/// store several times a second. The same rows whatever `jobs` is.
Result<SweepEnd> sweep(const Study& study, const ReadContext& context, Store& store,
                       const SweepOptions& options);

/// Every row of the store, all of them of candidates that the study has.
Result<std::vector<StudyRow>> rows_of(const Study& study, const Store& store);

/// Puts the rows of other parts of the same study into `target`.
Result<void> merge(Store& target, const std::vector<std::string>& parts);

}  // namespace pipecast

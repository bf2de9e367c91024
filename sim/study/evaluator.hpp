#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/read/read_cache.hpp"
#include "sim/read/study.hpp"
#include "sim/read/study_candidate.hpp"
#include "sim/study/row.hpp"
#include "sim/study/simulate.hpp"

namespace pipecast {

/// A change of the machine or of the runtime that is not in the study: what sensitivity and
/// sampling ask. Factors; 1 changes nothing.
struct Variation {
  double compute = 1;    ///< rate of every device
  double bandwidth = 1;  ///< of every link
  double latency = 1;
  double slowest_rank = 1;  ///< duration of everything on the middle rank
  double jitter = 0;        ///< standard deviation of an operation's time ÷ its time
  std::uint64_t seed = 0;   ///< of the jitter

  bool operator==(const Variation&) const = default;
};

/// Turns candidates of one study into rows. Keeps the parsed base scenario and what candidates have
/// in common (ReadCache), so that a candidate costs its own simulation and little else. A process
/// has one.
class Evaluator {
 public:
  /// `study` and what `context` points to must outlive it.
  Evaluator(const Study& study, const ReadContext& context);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// The row of a candidate; never fails: what is wrong is the row's reason. With Tier::Simgrid a
  /// child process is forked.
  StudyRow evaluate(std::int64_t candidate, Tier tier, const Variation& variation = {});

  /// The scenario of a candidate, to say how it is launched.
  Result<Scenario> scenario(std::int64_t candidate);

 private:
  Result<const Platform*> machine_of(const Scenario& scenario);

  /// A candidate up to its run, which is all that a variation changes.
  struct Ready {
    Tier tier;
    Scenario scenario;
    PlacedProgram placed;
    const Platform* shared;         ///< the cache's
    std::optional<Platform> worse;  ///< with the base's imperfections, in place of it
    std::vector<Bytes> capacities;  ///< [rank] rank_capacities()
    std::string accelerators;       ///< of its devices: StudyRow::accelerators
    bool by_formula = false;        ///< ends of the step in closed form

    TaskGraph& whole() { return placed.replicas ? placed.replicas->graph : placed.graph; }
    const Platform& machine() const {
      if (placed.replicas) return placed.replicas->platform;
      return worse ? *worse : *shared;
    }
  };
  /// The candidate that was varied last: samples ask for one many times in a row.
  struct Kept {
    std::int64_t candidate;
    Tier tier;
    tl::expected<Ready, StudyRow> ready;
  };

  tl::expected<Ready, StudyRow> ready(const Scenario& scenario, Tier tier);
  StudyRow run(Ready ready, const Variation& variation) const;

  const Study& study_;
  ReadCache cache_;
  ReadContext context_;  ///< with the study's presets and the cache
  YamlDocument document_;
  std::optional<Kept> kept_;
};

}  // namespace pipecast

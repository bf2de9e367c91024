#pragma once
#include <optional>

#include "sim/cost/derive.hpp"
#include "sim/read/training_plan_block.hpp"

namespace pipecast {

/// A scenario whose costs come from a model: what was planned, on what, and what it came to.
struct ModelRun {
  PlannedModel planned;  ///< with its stages
  PlanMachine machine;
  Derivation derivation;
  bool measured_costs = false;  ///< a profile's seconds stand in place of the derived ones

  bool operator==(const ModelRun&) const = default;
};

struct Scenario;
struct ReadContext;
class FaultList;
struct PipelineBlock;

/// `workload:` with `model:`: derives the scenario's workload once its pipeline, layout and
/// platform are read. `costs:` beside it, or a `profile:` (CSV or JSON of seconds per stage or
/// layer), replace the derived seconds. Faults go to the cursor's list.
void read_model_workload(const YamlCursor& workload, const PipelineBlock& pipeline,
                         const std::string& file, const ReadContext& context, FaultList& faults,
                         Scenario& scenario);

}  // namespace pipecast

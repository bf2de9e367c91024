#pragma once
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/cost/layout.hpp"

namespace pipecast {

/// Layers of every stage as torchtitan's generate_llm_fqn_per_model_part() gives them: the
/// embedding counts as `embedding_units` layers and norm and head as `head_units`; units ÷ stages
/// each, the first stages one more. Infeasible where it refuses: fewer units than stages, ends that
/// are heavier than a stage.
Result<std::vector<StageLayers>> torchtitan_stages(const TransformerModel& model, int stages,
                                                   int embedding_units, int head_units);

/// Layers of every stage as DeepSpeed's PipelineModule gives them: `type:…` counts layers alone,
/// the first stages one more; `uniform` counts the embedding and the head as layers; `parameters`,
/// which is its default (`best`), makes the largest stage as small as it can be, embedding and head
/// with their own. Where several cuts are equally good ours may differ from DeepSpeed's.
Result<std::vector<StageLayers>> deepspeed_stages(const TransformerModel& model, int stages,
                                                  std::string_view method);

}  // namespace pipecast

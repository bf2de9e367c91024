#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/cost/transformer.hpp"
#include "sim/model/parallel_layout.hpp"
#include "sim/model/program.hpp"

namespace pipecast {

/// What one stage (chunk) holds, in model order.
struct StageLayers {
  int encoder = 0;  ///< layers of a multimodal model's encoder, which come before the decoder
  bool embedding = false;
  int layers = 0;
  int mtp = 0;  ///< multi-token prediction modules
  bool head = false;

  bool operator==(const StageLayers&) const = default;
};

/// Microbatches per replica: global batch ÷ (microbatch size × data). Infeasible, naming the
/// nearest global batches, when it does not divide. The number of stages is not a factor.
Result<int> microbatches(const ParallelLayout& layout);

/// Degrees fit the model: heads and widths divide by tensor, experts by expert, expert divides data
/// × context, sequence by context (twice, for load balance) and by tensor when sequence parallel;
/// every fault names valid values.
Diagnostics check(const ParallelLayout& layout, const TransformerModel& model);

/// How layers are given to stages when no layout string says it.
struct SplitRule {
  std::optional<int>
      first_stage_layers;  ///< layers of the first pipeline rank, Megatron's --decoder-first-…
  std::optional<int> last_stage_layers;
  bool count_embedding = false;  ///< the embedding takes the place of a layer
  bool count_head = false;       ///< the head and loss take the place of a layer
  int encoder_stages = 0;  ///< first pipeline ranks that hold only the encoder; 0: the encoder
                           ///< shares the first stage with the decoder's first layers

  bool operator==(const SplitRule&) const = default;
};

/// Layers of every stage in model order. Even when they divide; else infeasible, naming layer
/// counts and degrees that do. First and last counts are per pipeline rank and spread over its
/// chunks.
Result<std::vector<StageLayers>> split_layers(const TransformerModel& model,
                                              const ParallelLayout& layout, const SplitRule& rule);

/// Seconds of the parts of a model on one device.
struct ModelSeconds {
  std::vector<double> layers;
  double embedding = 0;
  double head = 0;
};

/// As even as whole layers allow, by the seconds that each part takes on the device of the stage
/// that holds it. The largest stage is as small as any contiguous split can make it. O(layers² ×
/// stages).
std::vector<StageLayers> balanced_split(std::span<const ModelSeconds* const> on_stage,
                                        int mtp_layers);
/// The same for equal stages.
std::vector<StageLayers> balanced_split(const ModelSeconds& seconds, int mtp_layers, int stages);

/// Megatron's layout string: stages separated by `|`, `E` embedding, `t` layer, `m` MTP module, `L`
/// loss, `x*n` and `(…)*n` repeat, commas are cosmetic; `v`, a layer of the encoder, is ours. Every
/// fault with its column.
Result<std::vector<StageLayers>> parse_layout_string(std::string_view text);
/// The same string back, one letter per item; parse_layout_string() of it is the identity.
std::string layout_string(const std::vector<StageLayers>& stages);

/// A split holds every layer, the encoder and the embedding before the decoder and the head last,
/// in order.
Diagnostics check(const std::vector<StageLayers>& stages, const TransformerModel& model,
                  const ParallelLayout& layout);

}  // namespace pipecast

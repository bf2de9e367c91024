#include "sim/cost/layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pipecast {
namespace {

std::string nearest(std::int64_t value, std::int64_t step) {
  const std::int64_t below = value / step * step;
  const std::string above = std::to_string(below + step);
  return below == 0 ? above : std::to_string(below) + " or " + above;
}

void require_divides(Diagnostics& faults, std::string_view what, int value, std::string_view degree,
                     int step) {
  if (step > 0 && value % step == 0) return;
  faults.push_back(infeasible(std::string(what) + " is " + std::to_string(value) +
                                  " and does not divide by " + std::string(degree) + " " +
                                  std::to_string(step),
                              "nearest: " + nearest(value, std::max(step, 1))));
}

/// Far beyond every model; products of a few such numbers stay within 64 bits.
constexpr int kMostOfAnything = 1 << 26;

void require_positive(Diagnostics& faults, std::string_view name, int value) {
  if (value < 1 || value > kMostOfAnything)
    faults.push_back(input_error(std::string(name) + " must be from 1 to " +
                                 std::to_string(kMostOfAnything) + ", not " +
                                 std::to_string(value)));
}

/// What the cost of a layout needs beside its devices.
Diagnostics check_positive(const ParallelLayout& layout) {
  Diagnostics faults = check(layout);
  require_positive(faults, "chunks", layout.chunks);
  require_positive(faults, "sequence", layout.sequence);
  require_positive(faults, "microbatch_size", layout.microbatch_size);
  require_positive(faults, "global_batch", layout.global_batch);
  return faults;
}

void check_experts(Diagnostics& faults, const ParallelLayout& layout,
                   const TransformerModel& model) {
  if (layout.expert == 1 && layout.expert_tensor == 1) return;
  if (!model.has_experts()) {
    faults.push_back(
        infeasible("expert parallelism needs a mixture of experts; " + model.name + " is dense",
                   "set expert to 1"));
    return;
  }
  require_divides(faults, "the number of experts", model.experts.count, "expert", layout.expert);
  require_divides(faults, "expert width", model.experts.width, "expert_tensor",
                  layout.expert_tensor);
}

/// `parts` numbers as equal as possible that add up to `total`, larger ones first.
std::vector<int> spread(int total, int parts) {
  std::vector<int> shares(static_cast<std::size_t>(parts), total / parts);
  for (int i = 0; i < total % parts; ++i) ++shares[static_cast<std::size_t>(i)];
  return shares;
}

Result<std::vector<int>> layers_per_rank(const TransformerModel& model,
                                         const ParallelLayout& layout, const SplitRule& rule) {
  const int ranks = layout.pipeline;
  int middle_layers = model.layers;
  int middle_ranks = ranks - rule.encoder_stages;
  if (rule.first_stage_layers) {
    middle_layers -= *rule.first_stage_layers;
    --middle_ranks;
  }
  if (rule.last_stage_layers) {
    middle_layers -= *rule.last_stage_layers;
    --middle_ranks;
  }
  const int counted = (rule.count_embedding ? 1 : 0) + (rule.count_head ? 1 : 0);
  const int units = middle_layers + counted;
  if (middle_ranks < 0 || middle_layers < 0 || (middle_ranks == 0 && units != 0))
    return fail(infeasible("first and last stage hold more or fewer layers than the model's " +
                           std::to_string(model.layers)));
  const int step = std::max(middle_ranks, 1) * layout.chunks;
  if (middle_ranks > 0 && units % step != 0)
    return fail(infeasible(
        std::to_string(units) +
            " layers (embedding and head counted where asked) do not divide into " +
            std::to_string(step) + " stages",
        "layers that do: " + nearest(units, step) +
            "; or give first and last stage counts, a layout string, or `split: balanced`"));
  std::vector<int> result(static_cast<std::size_t>(ranks),
                          middle_ranks > 0 ? units / middle_ranks : 0);
  const auto encoder_ranks = static_cast<std::size_t>(rule.encoder_stages);
  std::fill_n(result.begin(), encoder_ranks, 0);
  if (rule.first_stage_layers) result[encoder_ranks] = *rule.first_stage_layers;
  if (rule.last_stage_layers) result.back() = *rule.last_stage_layers;
  return result;
}

/// Over its own stages, or all of it before the decoder's first layer.
void place_encoder(std::vector<StageLayers>& stages, int layers, int encoder_stages) {
  const std::vector<int> shares = spread(layers, std::max(encoder_stages, 1));
  for (std::size_t i = 0; i < shares.size(); ++i) stages[i].encoder = shares[i];
}

Diagnostics check_encoder_stages(const TransformerModel& model, const ParallelLayout& layout,
                                 const SplitRule& rule) {
  if (rule.encoder_stages == 0) return {};
  if (!model.has_encoder())
    return {infeasible("encoder stages need an encoder; " + model.name + " has none")};
  if (layout.chunks > 1)
    return {infeasible("encoder stages with more than one chunk per rank need a layout string",
                       "encoder layers are the letter v")};
  if (rule.encoder_stages > 0 && rule.encoder_stages < layout.pipeline) return {};
  return {infeasible("encoder stages are " + std::to_string(rule.encoder_stages) +
                     ", allowed is 1 to pipeline − 1, " + std::to_string(layout.pipeline - 1))};
}

}  // namespace

Result<int> microbatches(const ParallelLayout& layout) {
  const std::int64_t per_step = std::int64_t{layout.microbatch_size} * layout.data;
  if (layout.global_batch % per_step == 0) return static_cast<int>(layout.global_batch / per_step);
  return fail(infeasible("the global batch of " + std::to_string(layout.global_batch) +
                             " does not divide by microbatch size × data, " +
                             std::to_string(layout.microbatch_size) + " × " +
                             std::to_string(layout.data),
                         "nearest global batches: " + nearest(layout.global_batch, per_step)));
}

Diagnostics check(const ParallelLayout& layout, const TransformerModel& model) {
  Diagnostics faults = check_positive(layout);
  const auto wrong = [](const Diagnostic& fault) { return fault.fault == Fault::Input; };
  if (std::any_of(faults.begin(), faults.end(), wrong)) return faults;
  require_divides(faults, "the number of heads", model.heads, "tensor", layout.tensor);
  require_divides(faults, "feed_forward", model.feed_forward, "tensor", layout.tensor);
  require_divides(faults, "hidden", model.hidden, "tensor", layout.tensor);
  if (!model.has_latent_attention() && model.key_value_heads % layout.tensor != 0 &&
      layout.tensor % model.key_value_heads != 0)
    faults.push_back(infeasible("tensor " + std::to_string(layout.tensor) + " and " +
                                std::to_string(model.key_value_heads) +
                                " key/value heads: neither divides the other"));
  if (layout.context > 1)
    require_divides(faults, "sequence", layout.sequence, "2 × context", 2 * layout.context);
  if (layout.sequence_parallel)
    require_divides(faults, "the sequence of a device", layout.sequence / layout.context, "tensor",
                    layout.tensor);
  check_experts(faults, layout, model);
  if (layout.stages() > model.layers + 2)
    faults.push_back(infeasible(std::to_string(layout.stages()) +
                                " stages are more than the model's " +
                                std::to_string(model.layers) + " layers with embedding and head"));
  if (const Result<int> count = microbatches(layout); !count)
    faults.insert(faults.end(), count.error().begin(), count.error().end());
  return faults;
}

Result<std::vector<StageLayers>> split_layers(const TransformerModel& model,
                                              const ParallelLayout& layout, const SplitRule& rule) {
  if (Diagnostics faults = check_encoder_stages(model, layout, rule); !faults.empty())
    return fail(std::move(faults));
  const Result<std::vector<int>> per_rank = layers_per_rank(model, layout, rule);
  if (!per_rank) return fail(per_rank.error());
  std::vector<StageLayers> stages(static_cast<std::size_t>(layout.stages()));
  for (int rank = 0; rank < layout.pipeline; ++rank) {
    const std::vector<int> shares =
        spread((*per_rank)[static_cast<std::size_t>(rank)], layout.chunks);
    for (int chunk = 0; chunk < layout.chunks; ++chunk)
      stages[static_cast<std::size_t>(chunk * layout.pipeline + rank)].layers =
          shares[static_cast<std::size_t>(chunk)];
  }
  const auto decoder = static_cast<std::size_t>(rule.encoder_stages);
  if (rule.count_embedding && !rule.first_stage_layers) --stages[decoder].layers;
  if (rule.count_head && !rule.last_stage_layers) --stages.back().layers;
  place_encoder(stages, model.encoder.layers, rule.encoder_stages);
  stages[decoder].embedding = true;
  stages.back().head = true;
  stages.back().mtp = model.mtp_layers;
  if (Diagnostics faults = check(stages, model, layout); !faults.empty())
    return fail(std::move(faults));
  return stages;
}

namespace {

/// [i] the embedding and the first i layers.
std::vector<double> prefix_sums(const ModelSeconds& seconds) {
  std::vector<double> prefix(seconds.layers.size() + 1, seconds.embedding);
  for (std::size_t i = 0; i < seconds.layers.size(); ++i)
    prefix[i + 1] = prefix[i] + seconds.layers[i];
  return prefix;
}

}  // namespace

std::vector<StageLayers> balanced_split(const ModelSeconds& seconds, int mtp_layers, int stages) {
  const std::vector<const ModelSeconds*> on_stage(static_cast<std::size_t>(stages), &seconds);
  return balanced_split(on_stage, mtp_layers);
}

std::vector<StageLayers> balanced_split(std::span<const ModelSeconds* const> on_stage,
                                        int mtp_layers) {
  const std::size_t parts = on_stage.size();
  const std::size_t layers = on_stage.front()->layers.size();
  // best[k][i]: smallest possible largest stage when the first k stages hold the first i layers.
  std::vector<std::vector<double>> best(parts + 1, std::vector<double>(layers + 1, INFINITY));
  std::vector<std::vector<std::size_t>> cut(parts + 1, std::vector<std::size_t>(layers + 1, 0));
  best[0][0] = 0;
  for (std::size_t k = 1; k <= parts; ++k) {
    const std::vector<double> prefix = prefix_sums(*on_stage[k - 1]);
    const double extra = k == parts ? on_stage[k - 1]->head : 0;
    for (std::size_t i = 0; i <= layers; ++i)
      for (std::size_t j = i + 1; j-- > 0;) {
        const double stage = prefix[i] - (k == 1 ? 0 : prefix[j]) + extra;
        if (k == 1 && j > 0) continue;
        const double largest = std::max(best[k - 1][j], stage);
        if (largest < best[k][i]) {
          best[k][i] = largest;
          cut[k][i] = j;
        }
        if (stage >= best[k][i]) break;  // an earlier cut only makes this stage larger
      }
  }
  std::vector<StageLayers> result(parts);
  std::size_t end = layers;
  for (std::size_t k = parts; k > 0; --k) {
    result[k - 1].layers = static_cast<int>(end - cut[k][end]);
    end = cut[k][end];
  }
  result.front().embedding = true;
  result.back().head = true;
  result.back().mtp = mtp_layers;
  return result;
}

namespace {

/// Encoder, then embedding, then decoder layers, then the head; each where it may be.
void check_order(const std::vector<StageLayers>& stages, const TransformerModel& model,
                 Diagnostics& faults) {
  bool decoding = false;  // a decoder layer has been seen
  int embeddings = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].layers < 0)
      faults.push_back(
          infeasible("stage " + std::to_string(i) + " would hold a negative number of layers"));
    if (stages[i].encoder > 0 && decoding)
      faults.push_back(infeasible("the encoder comes before the decoder's layers"));
    if (stages[i].embedding && (decoding || (i > 0 && !model.has_encoder())))
      faults.push_back(
          infeasible("the embedding belongs to the first stage, after an encoder, and only there"));
    embeddings += stages[i].embedding ? 1 : 0;
    if (stages[i].layers > 0 && embeddings == 0)
      faults.push_back(infeasible("the embedding comes before the first layer"));
    decoding = decoding || stages[i].layers > 0;
    if (stages[i].head != (i + 1 == stages.size()))
      faults.push_back(infeasible("the head and loss belong to the last stage and only there"));
  }
  if (embeddings != 1)
    faults.push_back(
        infeasible("the model has one embedding, the stages hold " + std::to_string(embeddings)));
}

void check_total(Diagnostics& faults, std::string_view what, int held, int wanted) {
  if (held == wanted) return;
  faults.push_back(infeasible("the stages hold " + std::to_string(held) + " " + std::string(what) +
                              ", the model has " + std::to_string(wanted)));
}

}  // namespace

Diagnostics check(const std::vector<StageLayers>& stages, const TransformerModel& model,
                  const ParallelLayout& layout) {
  Diagnostics faults;
  if (stages.size() != static_cast<std::size_t>(layout.stages()))
    return {infeasible("the layout has " + std::to_string(stages.size()) +
                       " stages, pipeline × chunks is " + std::to_string(layout.stages()))};
  check_order(stages, model, faults);
  StageLayers total;
  for (const StageLayers& stage : stages) {
    total.layers += stage.layers;
    total.mtp += stage.mtp;
    total.encoder += stage.encoder;
  }
  check_total(faults, "layers", total.layers, model.layers);
  check_total(faults, "multi-token prediction modules", total.mtp, model.mtp_layers);
  check_total(faults, "encoder layers", total.encoder, model.encoder.layers);
  return faults;
}

}  // namespace pipecast

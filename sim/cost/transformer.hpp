#pragma once
#include <cstdint>
#include <string>

#include "sim/base/diagnostic.hpp"

namespace pipecast {

enum class Norm : std::uint8_t { LayerNorm, RmsNorm };  ///< with and without a bias
enum class Position : std::uint8_t { Learned, Rope, Alibi };

/// Multi-head latent attention (DeepSeek-V2): queries and keys/values through low-rank projections.
/// All zero when the model has ordinary attention.
struct LatentAttention {
  int query_rank = 0;      ///< 0: queries are projected directly
  int key_value_rank = 0;  ///< width of the cached latent; 0: no latent attention
  int nope_head_width = 0;
  int rope_head_width = 0;
  int value_head_width = 0;

  bool operator==(const LatentAttention&) const = default;
};

/// Mixture of experts. All zero when every layer is dense.
struct Experts {
  int count = 0;
  int active = 0;  ///< top-k
  int width = 0;   ///< feed-forward width of one expert
  int shared = 0;  ///< experts every token passes
  int dense_layers_first = 0;
  int every = 1;  ///< after the first dense ones, layer l has experts when l mod every = offset
  int offset = 0;
  bool shared_gate = false;  ///< a hidden × 1 gate weighs the shared experts (Qwen2-MoE)
  bool router_bias = false;
  double capacity_factor =
      0;  ///< 0: dropless; else tokens per expert are capped at this times the mean

  bool operator==(const Experts&) const = default;
};

/// The encoder of a multimodal model (vision, audio): layers that run before the decoder, on tokens
/// of their own. All zero when there is none. Two linear layers, hidden·merge × model hidden and
/// model hidden × model hidden, lead from it into the decoder.
struct Encoder {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int feed_forward = 0;
  bool gated = false;
  int tokens = 0;        ///< tokens (patches, frames) per sequence of the decoder
  int token_values = 0;  ///< inputs of one token, channels × patch²
  int merge = 1;         ///< encoder tokens that become one token of the decoder

  bool operator==(const Encoder&) const = default;
};

/// The shape of a decoder transformer: counts of elements, no units.
struct TransformerModel {
  std::string name;
  int layers = 1;
  int hidden = 1;
  int heads = 1;
  int key_value_heads = 1;  ///< heads: MHA, 1: MQA, between: GQA
  int head_width = 1;
  int feed_forward = 1;
  int vocabulary = 1;
  int max_position = 1;
  Norm norm = Norm::RmsNorm;
  Position position = Position::Rope;
  bool gated = true;  ///< SwiGLU and the like: two up-projections
  bool linear_bias = false;
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool query_key_norm = false;
  bool tied_embeddings = false;
  bool embedding_norm = false;
  bool causal = true;  ///< a token sees only those before it; an encoder's sees all
  int mtp_layers = 0;  ///< multi-token prediction modules after the last layer
  LatentAttention latent;
  Experts experts;
  Encoder encoder;

  bool has_encoder() const { return encoder.layers > 0; }
  bool has_latent_attention() const { return latent.key_value_rank > 0; }
  bool has_experts() const { return experts.count > 0; }
  int query_width() const {
    return has_latent_attention() ? heads * (latent.nope_head_width + latent.rope_head_width)
                                  : heads * head_width;
  }
  int value_width() const {
    return heads * (has_latent_attention() ? latent.value_head_width : head_width);
  }
  bool operator==(const TransformerModel&) const = default;
};

/// Everything positive, heads divide, experts complete; each fault named.
Diagnostics check(const TransformerModel& model);

/// Parameters of each part; per layer where the name says so.
struct ParameterCounts {
  double embedding = 0;  ///< token table, learned positions, embedding norm
  double attention_per_layer = 0;
  double norms_per_layer = 0;
  double dense_feed_forward_per_layer = 0;
  double router_per_layer = 0;
  double expert = 0;  ///< one expert
  double shared_experts_per_layer = 0;
  double final_norm = 0;
  double head = 0;  ///< 0 when tied to the embedding
  double encoder_per_layer = 0;
  double encoder_tokens = 0;     ///< patch or frame embedding, positions
  double encoder_connector = 0;  ///< final norm, the two linear layers into the decoder
  double mtp_per_module =
      0;  ///< one more layer, a 2h × h projection, its norms; embedding and head are shared

  bool operator==(const ParameterCounts&) const = default;
};

ParameterCounts parameter_counts(const TransformerModel& model);

/// Whether layer `layer` (from 0) is a mixture of experts.
bool is_expert_layer(const TransformerModel& model, int layer);
/// How many layers are. O(layers).
int expert_layers(const TransformerModel& model);

/// The encoder as a model of its own, without vocabulary: what its layers cost is computed as for
/// any layer, at `encoder.tokens` per sequence. Precondition: has_encoder().
TransformerModel encoder_model(const TransformerModel& model);

/// All parameters, the encoder included, without multi-token prediction (which published totals
/// leave out).
double total_parameters(const TransformerModel& model);
/// Parameters one token passes: top-k and shared experts only.
double active_parameters(const TransformerModel& model);

/// Whether a causal mask's empty half is counted as work.
enum class CausalCredit : std::uint8_t { Full, Half };

/// Model FLOPs of one training token at sequence length `sequence`, forward and backward, nothing
/// recomputed: 6 × the weights of every matrix multiplication it passes (the head included, the
/// embedding look-up not) + 6 · layers · sequence · (query width + value width), halved for `Half`.
/// Korthikanti et al. 2022, appendix A, generalised to gated, grouped, latent and expert layers. An
/// encoder's work on its tokens is spread over the tokens of the sequence.
double model_flops_per_token(const TransformerModel& model, int sequence, CausalCredit credit);

}  // namespace pipecast

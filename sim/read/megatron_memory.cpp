#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/read/megatron_parts.hpp"

namespace pipecast {
namespace {

using Arguments = MegatronArguments;

const std::array<std::string, 2> kGranularities{"full", "selective"};
const std::array<std::string, 2> kMethods{"uniform", "block"};
const std::array<std::string, 5> kRecipes{"delayed", "tensorwise", "mxfp8", "blockwise", "custom"};
const std::array<std::string, 2> kEight{"e4m3", "hybrid"};
const std::array<std::string, 1> kFour{"e2m1"};
const std::array<std::string, 2> kFourRecipes{"nvfp4", "custom"};
const std::array<std::string, 2> kGradients{"fp32", "bf16"};
const std::array<std::string, 2> kParameters{"fp32", "fp16"};
const std::array<std::string, 4> kMoments{"fp32", "fp16", "bf16", "fp8"};
const std::array<std::string, 5> kOptimizers{"adam", "sgd", "muon", "dist_muon", "lion"};
const std::array<std::string, 5> kBackends{"flash", "fused", "unfused", "local", "auto"};
const std::array<std::string, 2> kLosses{"native", "te"};
const std::array<std::string, 7> kModules{"core_attn", "moe_act", "layernorm",     "mla_up_proj",
                                          "mlp",       "moe",     "shared_experts"};

/// The modules of --recompute-modules; words after them belong to no argument.
std::vector<std::string> recomputed_modules(Arguments& given) {
  if (!given.has("recompute-modules")) return {kModules.front()};
  std::vector<std::string> modules = given.texts("recompute-modules");
  const auto known = [](const std::string& word) {
    return std::find(kModules.begin(), kModules.end(), word) != kModules.end();
  };
  const auto end = std::find_if_not(modules.begin(), modules.end(), known);
  if (end == modules.begin() && end != modules.end())
    given.fault("recompute-modules", fmt::format("--recompute-modules is '{}'", shown(*end)),
                suggest(*end, kModules));
  modules.erase(end, modules.end());
  return modules;
}

void read_selective(Arguments& given, FrameworkRun& run) {
  std::vector<std::string> others = recomputed_modules(given);
  if (std::erase(others, kModules.front()) > 0) run.layout.recompute = Recompute::Selective;
  if (!others.empty())
    run.notes.push_back(
        fmt::format("--recompute-modules {}: only core_attn is modelled, their "
                    "activations are counted as kept",
                    fmt::join(others, ", ")));
}

void read_recompute(Arguments& given, FrameworkRun& run) {
  const bool old_flag = given.flag("recompute-activations");
  const std::string granularity =
      given.choice("recompute-granularity", old_flag ? "selective" : "", kGranularities);
  const std::string method = given.choice("recompute-method", "uniform", kMethods);
  const bool counted = given.has("recompute-num-layers");
  const int layers = given.integer("recompute-num-layers", 1, 1, 4096);
  given.has("recompute-modules");
  if (granularity == "selective") read_selective(given, run);
  if (granularity != "full") return;
  run.layout.recompute = Recompute::Full;
  if (method == "uniform") run.memory.layers_per_checkpoint = layers;
  if (method == "block" && counted) run.layout.recompute_layers = layers;
}

/// The recipes of Transformer Engine; delayed is its default.
std::string eight_bit_precision(Arguments& given, FrameworkRun& run) {
  const std::string recipe = given.choice("fp8-recipe", "delayed", kRecipes);
  if (recipe == "custom")
    run.notes.push_back("--fp8-recipe custom is modelled as one scale per tensor");
  if (recipe == "blockwise") return "fp8-blockwise";
  return recipe == "mxfp8" ? "mxfp8" : "fp8";
}

void read_precision(Arguments& given, FrameworkRun& run) {
  const bool half = given.flag("fp16");
  const bool brain = given.flag("bf16");
  if (half && brain) given.fault("fp16", "--fp16 and --bf16 exclude each other");
  run.precision = half ? "fp16" : brain ? "bf16" : "fp32";
  const bool eight = given.has("fp8-format");
  const bool four = given.has("fp4-format");
  given.choice("fp8-format", "hybrid", kEight);
  given.choice("fp4-format", "e2m1", kFour);
  given.choice("fp4-recipe", "nvfp4", kFourRecipes);
  const std::string recipe = eight_bit_precision(given, run);
  if (eight && four) given.fault("fp4-format", "--fp8-format and --fp4-format exclude each other");
  if (eight) run.precision = recipe;
  if (four) run.precision = "nvfp4";
  if (eight || four || half || brain) return;
  run.notes.push_back("neither --bf16 nor --fp16 is given: Megatron trains in 32 bits");
  run.memory.weight_bytes = 4;
  run.kernels.element_bytes = 4;
}

double bytes_of(const std::string& dtype) {
  if (dtype == "fp32") return 4;
  return dtype == "fp8" ? 1 : 2;
}

/// Bytes of a parameter's master copy and moments when their types are chosen one by one. A 32-bit
/// master copy beside 16-bit weights is kept as the 16 bits that the weight lacks.
double chosen_optimizer_bytes(Arguments& given, FrameworkRun& run) {
  const bool chosen = given.flag("use-precision-aware-optimizer");
  const std::string gradients = given.choice("main-grads-dtype", "fp32", kGradients);
  const std::string parameters = given.choice("main-params-dtype", "fp32", kParameters);
  const std::string mean = given.choice("exp-avg-dtype", "fp32", kMoments);
  const std::string square = given.choice("exp-avg-sq-dtype", "fp32", kMoments);
  const double master = run.precision == "fp32" ? 0 : 4;
  if (!chosen) return master + 8;
  run.memory.gradient_bytes = std::min(run.memory.gradient_bytes, bytes_of(gradients));
  const bool remainder = parameters == "fp32" && master > 0 && run.precision != "fp16";
  const double copy = remainder ? 2 : std::min(master, bytes_of(parameters));
  return copy + bytes_of(mean) + bytes_of(square);
}

/// One moment for SGD and Muon, two for Adam; the replicas that share them, and the host's part.
void read_optimizer(Arguments& given, FrameworkRun& run) {
  const std::string optimizer = given.choice("optimizer", "adam", kOptimizers);
  run.memory.gradient_bytes = given.flag("grad-reduce-in-bf16") ? 2 : 4;
  const double adam = chosen_optimizer_bytes(given, run);
  const double master = run.precision == "fp32" ? 0 : 4;
  const double momentum = given.number("sgd-momentum", 0.9, 0, 1);
  double bytes = adam;
  if (optimizer == "sgd") bytes = master + (momentum > 0 ? 4 : 0);
  if (optimizer != "adam" && optimizer != "sgd") {
    bytes = master + 4;
    run.notes.push_back("--optimizer " + optimizer + ": one moment of 32 bits for every parameter");
  }
  const int copies = given.integer("num-distributed-optimizer-instances", 1, 1, 1 << 16);
  if (run.layout.zero == 1) bytes *= copies;
  const bool offloads = given.flag("optimizer-cpu-offload");
  const double share = given.number("optimizer-offload-fraction", 1, 0, 1);
  run.memory.optimizer_bytes = offloads ? bytes * (1 - share) : bytes;
}

void read_kernels(Arguments& given, FrameworkRun& run) {
  const std::string backend = given.choice("attention-backend", "auto", kBackends);
  run.kernels.fused_attention = backend != "unfused" && backend != "local";
  run.hidden_dropout = given.number("hidden-dropout", 0.1, 0, 1);
  run.attention_dropout = given.number("attention-dropout", 0.1, 0, 1);
  run.kernels.dropout =
      run.hidden_dropout > 0 || (run.attention_dropout > 0 && !run.kernels.fused_attention);
  const bool fused = given.flag("cross-entropy-loss-fusion");
  const std::string loss = given.choice("cross-entropy-fusion-impl", "native", kLosses);
  // Megatron's own fused loss keeps the softmax as the unfused one does.
  run.memory.loss = fused && loss == "te" ? LossKernel::InPlace : LossKernel::Softmax32;
}

/// Layers whose activations wait in the host's memory.
void read_offload(Arguments& given, FrameworkRun& run) {
  const int layers = given.integer("cpu-offloading-num-layers", 0, 0, 4096);
  if (layers == 0) return;
  if (run.model && run.layout.pipeline == 1)
    run.memory.offload = std::min(1.0, double{1} * layers / run.model->layers);
  else
    run.notes.push_back(
        "--cpu-offloading-num-layers has no effect here: Megatron takes it without a pipeline "
        "only");
}

}  // namespace

void read_megatron_memory(Arguments& given, FrameworkRun& run) {
  read_precision(given, run);
  read_optimizer(given, run);
  read_kernels(given, run);
  read_recompute(given, run);
  read_offload(given, run);
}

}  // namespace pipecast

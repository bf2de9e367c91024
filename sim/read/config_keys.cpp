#include "sim/read/config_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pipecast {
namespace {

// clang-format off
constexpr std::array<std::string_view, 48> kDeepspeed{
    "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps",
    "steps_per_print", "optimizer", "scheduler", "bf16", "bfloat16", "fp16", "data_types",
    "communication_data_type", "prescale_gradients", "gradient_predivide_factor",
    "sparse_gradients", "gradient_clipping", "zero_optimization", "zero_allow_untested_optimizer",
    "zero_force_ds_cpu_optimizer", "wall_clock_breakdown", "dump_state", "memory_breakdown",
    "flops_profiler", "activation_checkpointing", "pipeline", "aio", "tensorboard", "wandb",
    "csv_monitor", "comet", "monitor_config", "comms_logger", "data_efficiency", "autotuning",
    "checkpoint", "nebula", "eigenvalue", "hybrid_engine", "tensor_parallel_size",
    "seq_parallel_communication_data_type", "disable_allgather", "train_iters",
    "load_universal_checkpoint", "use_data_before_expert_parallel_parallelism",
    "use_node_local_storage", "vocabulary_size", "timers", "allreduce_always_fp32", "_comment",};

constexpr std::array<std::string_view, 12> kDeepspeedUnmodelled{
    "amp", "sparse_attention", "compression_training", "progressive_layer_drop",
    "quantize_training", "compile", "tensor_parallel", "sequence_parallel_size",
    "curriculum_learning", "elasticity", "torch_autocast", "graph_harvesting",};

constexpr std::array<std::string_view, 34> kZero{
    "stage", "allgather_partitions", "allgather_bucket_size", "overlap_comm", "reduce_scatter",
    "reduce_bucket_size", "contiguous_gradients", "offload_param", "offload_optimizer",
    "stage3_max_live_parameters", "stage3_max_reuse_distance", "stage3_prefetch_bucket_size",
    "stage3_param_persistence_threshold", "stage3_model_persistence_threshold",
    "stage3_gather_16bit_weights_on_model_save", "stage3_gather_fp16_weights_on_model_save",
    "stage3_use_all_reduce_for_fetch_params", "stage3_module_granularity_threshold",
    "sub_group_size", "elastic_checkpoint", "ignore_unused_parameters", "round_robin_gradients",
    "zero_hpz_partition_size", "zero_quantized_weights", "zero_quantized_gradients",
    "mics_shard_size", "mics_hierarchical_params_gather", "cpu_offload_use_pin_memory",
    "load_from_fp32_weights", "legacy_stage1", "memory_efficient_linear", "override_module_apply",
    "log_trace_cache_warnings", "pipeline_loading_checkpoint",};

constexpr std::array<std::string_view, 4> kZeroUnmodelled{
    "cpu_offload", "cpu_offload_params", "zero_quantized_nontrainable_weights", "zeropp_loco_param",};

constexpr std::array<std::string_view, 7> kPipeline{
    "stages", "partition", "seed_layers", "activation_checkpoint_interval", "pipe_partitioned",
    "grad_partitioned", "use_reentrant",};

constexpr std::array<std::string_view, 6> kCheckpoints{
    "partition_activations", "cpu_checkpointing", "contiguous_memory_optimization",
    "number_checkpoints", "synchronize_checkpoint_boundary", "profile",};

constexpr std::array<std::string_view, 10> kSixteen{
    "enabled", "auto_cast", "loss_scale", "initial_scale_power", "loss_scale_window", "hysteresis",
    "consecutive_hysteresis", "min_loss_scale", "immediate_grad_update", "check_grad_overflow",};

constexpr std::array<std::string_view, 3> kSixteenUnmodelled{
    "fp16_master_weights_and_grads", "bf16_master_weights_and_grads", "bf16_optimizer_states",};

constexpr std::array<std::string_view, 22> kTorchtitan{
    "job", "profiling", "metrics", "model", "optimizer", "lr_scheduler", "training", "parallelism",
    "checkpoint", "activation_checkpoint", "compile", "float8", "mx", "comm", "experimental",
    "validation", "debug", "description", "memory_estimation", "tokenizer", "dataloader",
    "profiler",};

constexpr std::array<std::string_view, 4> kTorchtitanUnmodelled{
    "quantize", "quantization", "fault_tolerance", "lora",};

constexpr std::array<std::string_view, 19> kParallelism{
    "data_parallel_replicate_degree", "data_parallel_shard_degree", "tensor_parallel_degree",
    "disable_loss_parallel", "enable_async_tensor_parallel", "pipeline_parallel_degree",
    "module_fqns_per_model_part", "pipeline_parallel_first_stage_less_layers",
    "pipeline_parallel_last_stage_less_layers", "pipeline_parallel_layers_per_stage",
    "pipeline_parallel_schedule", "pipeline_parallel_schedule_csv",
    "pipeline_parallel_microbatch_size", "num_pp_microbatches", "context_parallel_degree",
    "context_parallel_rotate_method", "context_parallel_load_balancer", "expert_parallel_degree",
    "expert_tensor_parallel_degree",};

constexpr std::array<std::string_view, 6> kParallelismUnmodelled{
    "enable_compiled_autograd", "fsdp_reshard_after_forward", "pipeline_parallel_split_points",
    "expert_parallel_comm_backend", "enable_sequence_parallel",
    "pipeline_parallel_expert_parallel_overlap",};

constexpr std::array<std::string_view, 16> kTraining{
    "dataset", "dataset_path", "local_batch_size", "batch_size", "global_batch_size", "seq_len",
    "max_norm", "steps", "gc_freq", "gc_debug", "seed", "mixed_precision_reduce",
    "enable_float8_linear", "warmup_steps", "debug_moe_force_load_balance", "compile",};

constexpr std::array<std::string_view, 5> kTrainingUnmodelled{
    "enable_cpu_offload", "dtype", "mixed_precision_param", "deterministic", "data_parallel_degree",};

constexpr std::array<std::string_view, 5> kActivation{
    "mode", "early_stop", "preserve_rng_state", "determinism_check", "debug",};

constexpr std::array<std::string_view, 4> kActivationUnmodelled{
    "selective_ac_option", "per_op_sac_force_recompute_mm_shapes_by_fqns", "memory_budget",
    "visualize_memory_budget_pareto",};

constexpr std::array<std::string_view, 8> kFloat8{
    "enable_float8_linear", "enable_fsdp_float8_all_gather",
    "precompute_float8_dynamic_scale_for_fsdp", "force_recompute_fp8_weight_in_bwd", "recipe_name",
    "filter_fqns", "emulate", "moe_fqns_prototype",};
// clang-format on

const std::array<ConfigBlock, 6> kDeepspeedBlocks{{{"", kDeepspeed, kDeepspeedUnmodelled},
                                                   {"zero_optimization", kZero, kZeroUnmodelled},
                                                   {"pipeline", kPipeline, {}},
                                                   {"activation_checkpointing", kCheckpoints, {}},
                                                   {"fp16", kSixteen, kSixteenUnmodelled},
                                                   {"bf16", kSixteen, kSixteenUnmodelled}}};

const std::array<ConfigBlock, 5> kTorchtitanBlocks{
    {{"", kTorchtitan, kTorchtitanUnmodelled},
     {"parallelism", kParallelism, kParallelismUnmodelled},
     {"training", kTraining, kTrainingUnmodelled},
     {"activation_checkpoint", kActivation, kActivationUnmodelled},
     {"float8", kFloat8, {}}}};

bool contains(std::span<const std::string_view> keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

void judge_block(const YamlCursor& map, const ConfigBlock& block,
                 std::vector<std::string>& unmodelled, std::vector<std::string>& notes) {
  std::vector<std::string> known(block.keys.begin(), block.keys.end());
  known.insert(known.end(), block.unmodelled.begin(), block.unmodelled.end());
  const std::string before = block.name.empty() ? "" : std::string(block.name) + ".";
  for (const YamlCursor& entry : map.children()) {
    const std::string key(entry.key());
    if (contains(block.keys, key)) continue;
    if (contains(block.unmodelled, key))
      unmodelled.push_back(before + key);
    else if (closest(key, known))
      entry.fault_at_key(fmt::format("unknown key '{}'", shown(key)), suggest(key, known));
    else
      notes.push_back(before + shown(key) + " is not known and has no effect here");
  }
}

}  // namespace

std::span<const ConfigBlock> deepspeed_keys() { return kDeepspeedBlocks; }
std::span<const ConfigBlock> torchtitan_keys() { return kTorchtitanBlocks; }

void judge_keys(const YamlCursor& root, std::span<const ConfigBlock> blocks,
                std::vector<std::string>& notes) {
  std::vector<std::string> unmodelled;
  for (const ConfigBlock& block : blocks) {
    if (!block.name.empty() && !root.has(block.name)) continue;
    const auto map = block.name.empty() ? root : root.find(block.name);
    if (map && map->is_map()) judge_block(*map, block, unmodelled, notes);
  }
  if (!unmodelled.empty())
    notes.push_back(fmt::format("{}: not modelled", fmt::join(unmodelled, ", ")));
}

}  // namespace pipecast

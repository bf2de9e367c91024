#include "sim/read/megatron_names.hpp"

#include <algorithm>
#include <array>

namespace pipecast {
namespace {

// clang-format off
/// Data, learning rate, logging, checkpoints, initialisation, numerics without a cost. Sorted.
constexpr std::array<std::string_view, 298> kHarmless{
    "accumulate-allreduce-grads-in-fp32", "activation-func-clamp-value", "adam-beta1", "adam-beta2",
    "adam-eps", "adamw-beta1", "allow-ambiguous-pad-tokens", "app-tag-run-name",
    "app-tag-run-version", "apply-layernorm-1p", "apply-query-key-layer-scaling",
    "apply-residual-connection-post-layernorm", "async-save", "attention-softmax-in-fp32",
    "auto-detect-ckpt-format", "batch-size", "beta-fast", "beta-slow", "block-data-path",
    "cache-mla-latents", "calc-ft-timeouts", "calculate-per-token-loss", "check-for-large-grads",
    "check-for-nan-in-loss-and-grad", "classes-fraction", "clip-grad", "config-logger-dir",
    "create-all-gather-group", "cuda-graph-warmup-steps", "data-args-path", "data-cache-path",
    "data-parallel-random-init", "data-path", "data-per-class-fraction",
    "dataloader-defer-npy-index-mmap", "dataloader-fast-cache-load", "dataloader-type",
    "ddp-average-in-collective", "ddp-pad-buckets-for-high-nccl-busbw", "decode-only-cuda-graphs",
    "decoupled-lr", "decoupled-min-lr", "decrease-batch-size-if-needed", "delay-grad-reduce",
    "delay-param-gather", "disable-bf16-reduced-precision-matmul", "disable-chunked-prefill",
    "disable-gloo-process-groups", "disable-msc", "disable-straggler-on-startup",
    "disable-symmetric-registration", "disable-tp-comm-bulk-dgrad", "disable-tp-comm-bulk-wgrad",
    "disable-tp-comm-overlap-ag", "disable-tp-comm-overlap-rs", "disable-tp-comm-split-ag",
    "disable-tp-comm-split-rs", "dist-ckpt-format", "dist-ckpt-optim-fully-reshardable",
    "dist-ckpt-strictness", "distrib-optim-fully-reshardable-mem-efficient", "distributed-backend",
    "distributed-timeout-minutes", "distributed-timeout-seconds-after-init",
    "dump-param-to-param-group-map", "embedding-init-method-std", "embedding-path",
    "empty-unused-memory-level", "enable-experimental", "enable-ft-package",
    "enable-gloo-process-groups", "enable-one-logger", "end-weight-decay", "eod-mask-loss",
    "error-injection-iter", "error-injection-rate", "error-injection-type", "evidence-data-path",
    "exit-duration-in-mins", "exit-interval", "exit-on-missing-checkpoint", "exit-signal",
    "exit-signal-handler", "exit-signal-handler-for-dataloader", "fake-process-group", "finetune",
    "flash-decode", "fp16-lm-cross-entropy", "fp4-quantizer-factory", "fp8-amax-compute-algo",
    "fp8-amax-history-len", "fp8-interval", "fp8-margin", "fp8-quantizer-factory",
    "fsdp-manual-registration", "full-validation", "glu-linear-offset", "head-lr-mult",
    "high-priority-stream-groups", "hysteresis", "img-h", "img-w", "inference-rng-tracker",
    "init-method-std", "init-method-xavier-uniform", "init-model-with-meta-device",
    "initial-loss-scale", "iter-per-epoch", "iterations-to-skip", "lazy-mpu-init",
    "legacy-tokenizer", "load", "load-main-params-from-ckpt", "local-rank", "log-interval",
    "log-straggler", "logging-level", "loss-scale", "loss-scale-window", "lr", "manual-gc",
    "manual-gc-eval", "manual-gc-interval", "mask-factor", "mask-prob", "mask-type",
    "max-tokens-to-oom", "memory-snapshot-path", "merge-file", "mid-level-dataset-surplus",
    "min-loss-scale", "min-lr", "mlp-chunks-for-prefill", "mock-data", "moe-apply-probs-on-input",
    "moe-aux-loss-coeff", "moe-deepep-num-sms", "moe-extended-tp", "moe-grouped-gemm",
    "moe-hybridep-num-sms", "moe-input-jitter-eps", "moe-pad-experts-for-cuda-graph-inference",
    "moe-per-layer-logging", "moe-permute-fusion", "moe-router-bias-update-rate",
    "moe-router-dtype", "moe-router-force-load-balancing", "moe-router-fusion",
    "moe-router-group-topk", "moe-router-load-balancing-type", "moe-router-num-groups",
    "moe-router-padding-for-fp8", "moe-router-padding-for-quantization", "moe-router-pre-softmax",
    "moe-router-score-function", "moe-router-topk-limited-devices",
    "moe-router-topk-scaling-factor", "moe-token-drop-policy", "moe-token-dropping",
    "moe-upcycling-granularity", "moe-use-legacy-grouped-gemm", "moe-use-upcycling",
    "moe-z-loss-coeff", "mrope-section", "mscale", "mscale-all-dim", "mtp-loss-scaling-factor",
    "multiple-validation-sets", "nccl-all-reduce-for-prefill", "nccl-communicator-config-path",
    "no-align-grad-reduce", "no-align-param-gather", "no-async-tensor-model-parallel-allreduce",
    "no-barrier-with-level-1-timing", "no-check-for-nan-in-loss-and-grad",
    "no-clone-scatter-output-in-embedding", "no-create-attention-mask-in-dataloader",
    "no-data-sharding", "no-fp8-wgrad", "no-gradient-reduce-div-fusion", "no-initialization",
    "no-load-optim", "no-load-rng", "no-log-loss-scale-to-tensorboard", "no-mmap-bin-files",
    "no-one-logger", "no-pin-cpu-grads", "no-pin-cpu-params", "no-rope-freq", "no-save-optim",
    "no-save-rng", "no-scatter-gather-tensors-in-pipeline", "no-strict-fsdp-dtensor-load",
    "no-use-tokenizer-model-from-checkpoint-args", "non-persistent-ckpt-type",
    "non-persistent-global-ckpt-dir", "non-persistent-local-ckpt-algo",
    "non-persistent-local-ckpt-dir", "non-persistent-save-interval", "norm-epsilon", "num-channels",
    "num-classes", "num-dataset-builder-threads", "num-workers", "nvtx-ranges",
    "object-storage-cache-path", "onnx-safe", "openai-gelu", "original-max-position-embeddings",
    "output-bert-embeddings", "overlap-cpu-optimizer-d2h-h2d", "override-opt-param-scheduler",
    "patch-dim", "per-dataset-sequences-path", "per-split-data-args-path", "perform-rl-step",
    "persistent-save-interval", "pipeline-model-parallel-comm-backend", "pretrained-checkpoint",
    "profile", "profile-ranks", "profile-step-end", "profile-step-start", "qk-clip",
    "qk-clip-alpha", "qk-clip-threshold", "qk-l2-norm", "query-in-block-prob",
    "record-memory-history", "refit-method", "relative-attention-max-distance",
    "relative-attention-num-buckets", "replication", "replication-factor", "replication-jump",
    "reset-attention-mask", "reset-position-ids", "result-rejected-tracker-filename",
    "retriever-seq-length", "rope-scaling-factor", "rope-type", "rotary-base", "rotary-interleaved",
    "rotary-percent", "rotary-scaling-factor", "rotary-seq-len-interpolation-factor",
    "run-workload-inspector-server", "sample-rate", "save", "save-interval", "save-retain-interval",
    "seed", "sft", "sgd-momentum", "sharp-enabled-group", "short-seq-prob", "skip-train", "split",
    "squared-relu", "start-weight-decay", "step-batch-size-schedule", "symmetric-ar-type",
    "te-rng-tracker", "test-data-path", "test-mode", "timing-log-level", "timing-log-option",
    "titles-data-path", "tp-comm-bootstrap-backend", "tp-comm-overlap-cfg",
    "tp-comm-overlap-rs-dgrad", "tp-only-amax-red", "train-data-path", "train-iters",
    "train-samples", "train-tokens", "transformer-engine-version", "transformer-impl",
    "trust-remote-code", "use-checkpoint-opt-param-scheduler", "use-cpu-initialization",
    "use-dist-ckpt", "use-flash-attn", "use-legacy-models", "use-legacy-static-engine",
    "use-mcore-models", "use-mp-args-from-checkpoint-args", "use-one-sent-docs",
    "use-persistent-ckpt-worker", "use-pytorch-profiler", "use-rope-scaling",
    "use-torch-optimizer-for-cpu-offload", "valid-data-path", "vocab-extra-ids", "vocab-file",
    "warmup", "weight-decay", "weight-decay-incr-style",};

/// Sorted.
constexpr std::array<std::string_view, 85> kUnmodelled{
    "attention-output-gate", "batch-invariant-mode", "checkpoint-activations", "cuda-graph-impl",
    "cuda-graph-scope", "ddp-bucket-size", "ddp-num-buckets",
    "ddp-reduce-scatter-with-fp32-accumulation", "decoder-num-layers", "decoder-seq-length",
    "defer-embedding-wgrad-compute", "deterministic-mode", "disable-mamba-mem-eff-path",
    "distribute-saved-activations", "enable-cuda-graph", "enable-full-sharding-in-hsdp",
    "encoder-num-layers", "encoder-pipeline-model-parallel-size", "encoder-seq-length",
    "encoder-tensor-model-parallel-size", "ep-overlap-early-attn-memory-release",
    "external-cuda-graph", "fine-grained-activation-offloading", "first-last-layers-bf16",
    "fp32-residual-connection", "fp4-param-gather", "fp8-param-gather", "fsdp-double-buffer",
    "heterogeneous-layers-config-encoded-json", "heterogeneous-layers-config-path",
    "hierarchical-context-parallel-sizes", "hybrid-attention-ratio", "hybrid-mlp-ratio",
    "hybrid-override-pattern", "is-hybrid-model", "keep-fp8-transpose-cache",
    "kitchen-attention-backend", "kitchen-config-file", "kitchen-recipe-number", "mamba-head-dim",
    "mamba-num-groups", "mamba-num-heads", "mamba-state-dim", "model-parallel-size",
    "moe-enable-deepep", "moe-flex-dispatcher-backend", "moe-latent-size", "moe-layer-recompute",
    "moe-pad-expert-input-to-capacity", "moe-shared-expert-overlap", "moe-token-dispatcher-type",
    "no-bias-dropout-fusion", "no-bias-gelu-fusion", "no-bias-swiglu-fusion",
    "no-gradient-accumulation-fusion", "no-masked-softmax-fusion", "no-persist-layer-norm",
    "no-rope-fusion", "num-layers-at-end-in-bf16", "num-layers-at-start-in-bf16", "offload-modules",
    "overlap-p2p-communication-warmup-flush", "overlap-param-gather-with-optimizer-step",
    "pipeline-model-parallel-split-rank", "rampup-batch-size", "reuse-grad-buf-for-mxfp8-param-ag",
    "softmax-type", "spec", "standalone-embedding-stage", "suggested-communication-unit-size",
    "te-precision-config-file", "torch-fsdp2-no-reshard-after-forward", "use-checkpoint-args",
    "use-custom-fsdp", "use-fused-weighted-squared-relu", "use-kitchen-attention",
    "use-megatron-fsdp", "use-nccl-ub", "use-ring-exchange-p2p", "use-sharp",
    "use-te-activation-func", "wgrad-deferral-limit", "window-attn-skip-freq", "window-size",
    "yaml-cfg",};

/// Of torchrun, and of what starts it: srun, mpirun, docker, nsys. Sorted.
constexpr std::array<std::string_view, 80> kLauncher{
    "account", "allow-run-as-root", "bind-to", "capture-range", "capture-range-end",
    "container-image", "container-mounts", "container-workdir", "cpu-bind", "cpus-per-task",
    "cuda-graph-trace", "entrypoint", "env", "error", "exclude", "exclusive", "export",
    "force-overwrite", "gpus", "gpus-per-node", "gpus-per-task", "gres", "hostfile", "include",
    "ipc", "job-name", "kill-on-bad-exit", "label", "local-addr", "local-ranks-filter", "log-dir",
    "map-by", "master-addr", "master-port", "max-restarts", "mca", "mem", "module",
    "monitor-interval", "mpi", "name", "network", "nnodes", "no-container-mount-home", "no-python",
    "node-rank", "nodes", "np", "nproc-per-node", "ntasks", "ntasks-per-node", "num-gpus",
    "num-nodes", "output", "overlap", "oversubscribe", "partition", "privileged", "qos",
    "rdzv-backend", "rdzv-conf", "rdzv-endpoint", "rdzv-id", "redirects", "rm", "role", "run-path",
    "sample", "shm-size", "standalone", "start-method", "stats", "tee", "time", "trace", "ulimit",
    "unbuffered", "volume", "wait", "workdir",};

/// Whole families without effect.
constexpr std::array<std::string_view, 29> kHarmlessFamilies{
    "adlr-", "bert-", "biencoder-", "ckpt-", "dino-", "eval-", "fim-", "grpo-", "ict-", "indexer-",
    "inference-", "inprocess-", "langrl-", "log-", "lr-", "no-ckpt-", "one-logger-", "rerun-",
    "retriever-", "retro-", "rl-", "sft-", "straggler-", "swin-", "tensorboard-", "tiktoken-",
    "tokenizer-", "vision-", "wandb-",};

// clang-format on

}  // namespace

bool is_launcher_name(std::string_view name) {
  return std::binary_search(kLauncher.begin(), kLauncher.end(), name);
}

MegatronName megatron_name(std::string_view name) {
  if (std::binary_search(kUnmodelled.begin(), kUnmodelled.end(), name))
    return MegatronName::Unmodelled;
  const bool family =
      std::any_of(kHarmlessFamilies.begin(), kHarmlessFamilies.end(),
                  [&](std::string_view prefix) { return name.starts_with(prefix); });
  if (family || is_launcher_name(name) ||
      std::binary_search(kHarmless.begin(), kHarmless.end(), name))
    return MegatronName::Harmless;
  return MegatronName::Unknown;
}

std::vector<std::string> listed_megatron_names() {
  std::vector<std::string> names(kHarmless.begin(), kHarmless.end());
  names.insert(names.end(), kUnmodelled.begin(), kUnmodelled.end());
  names.insert(names.end(), kLauncher.begin(), kLauncher.end());
  return names;
}

}  // namespace pipecast

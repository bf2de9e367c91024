#include <algorithm>

#include "sim/graph/transfers.hpp"

namespace pipecast {

std::vector<LoweringInfo> builtin_lowerings() {
  return {
      {"pytorch",
       "gather parameters three stages ahead, reduce gradients, place sends and receives",
       "PyTorch main 00722e64, _add_unshard_reshard, _add_reduce_grad, _add_send_recv",
       [](const Program& program) { return lower_pytorch(program, PytorchVersion::Main); }},
      {"pytorch-2.8", "the same as release 2.8 does it: no REDUCE_GRAD, no last RESHARD",
       "PyTorch 2.8.0",
       [](const Program& program) { return lower_pytorch(program, PytorchVersion::V2_8); }},
      {"pytorch-sendrecv", "place sends and receives only", "PyTorch 2.8.0, _add_send_recv",
       lower_pytorch_send_receive},
      {"pytorch-class-loop", "the batched sends and receives of the gpipe and 1f1b classes",
       "PyTorch 2.8.0, ScheduleGPipe and Schedule1F1B", lower_pytorch_class_loop},
      {"megatron-sync", "one blocking batch after each pass",
       "Megatron-LM d98e8a64, overlap_p2p_comm off",
       [](const Program& program) { return lower_megatron(program, MegatronMode::Sync); }},
      {"megatron-overlap", "posted in the steady state, blocking in warm-up and cool-down",
       "Megatron-LM d98e8a64, overlap_p2p_comm",
       [](const Program& program) { return lower_megatron(program, MegatronMode::Overlap); }},
      {"megatron-overlap-flush", "posted throughout, one receive ahead in warm-up and cool-down",
       "Megatron-LM d98e8a64, overlap_p2p_comm_warmup_flush",
       [](const Program& program) { return lower_megatron(program, MegatronMode::OverlapFlush); }},
      {"deepspeed", "blocking sends and receives of the steps before each compute",
       "DeepSpeed 38327e07, TrainSchedule and InferenceSchedule", lower_deepspeed},
      {"zero-bubble", "placed by the times of a dry run, a receive before what it can overlap",
       "sail-sg/zero-bubble 39f2c186, run_schedule_passes", lower_zero_bubble},
      {"dualpipe", "one blocking batch before each compute, hidden only inside overlapped pairs",
       "deepseek-ai/DualPipe 3da1bbea", lower_dualpipe},
      {"batched", "blocking batches between cells, for any schedule", "ours", lower_batched},
  };
}

const LoweringInfo* find_lowering(std::span<const LoweringInfo> lowerings, std::string_view name) {
  const auto found = std::find_if(lowerings.begin(), lowerings.end(),
                                  [&](const LoweringInfo& info) { return info.name == name; });
  return found == lowerings.end() ? nullptr : &*found;
}

}  // namespace pipecast

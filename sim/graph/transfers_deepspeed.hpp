#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/model/program.hpp"

namespace pipecast {

/// One instruction of DeepSpeed's pipeline engine.
struct DeepspeedInstruction {
  enum class Kind : std::uint8_t {
    Operation,       ///< an operation of the program, a send, a receive, or the optimizer
    LoadMicrobatch,  ///< the first and the last stage read their data
    ReduceTiedGrads,
  };
  Kind kind = Kind::Operation;
  Op op;  ///< names stage and microbatch for the other kinds too

  bool operator==(const DeepspeedInstruction&) const = default;
};

/// [rank][step][instruction]; a step may be empty.
using DeepspeedSteps = std::vector<std::vector<std::vector<DeepspeedInstruction>>>;

/// DeepSpeed's TrainSchedule, or InferenceSchedule when the program has no backward. 2 (m + P − 1)
/// steps alternate between forward and backward; inference has m + P − 1. Error: another compute
/// order than 1F1B's.
Result<DeepspeedSteps> deepspeed_steps(const Program& program);

/// A line per rank, a comma between steps, a blank between instructions:
/// `0LOAD1 0F1,0SEND_F1,…,0REDUCE_TIED_GRAD 0REDUCE_GRAD 0OPT`.
std::string deepspeed_text(const DeepspeedSteps& steps);

}  // namespace pipecast

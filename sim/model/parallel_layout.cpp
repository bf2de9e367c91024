#include "sim/model/parallel_layout.hpp"

#include <algorithm>
#include <cstdint>

namespace pipecast {
namespace {

void require_positive(Diagnostics& faults, std::string_view name, int degree) {
  if (degree < 1)
    faults.push_back(
        input_error(std::string(name) + " must be at least 1, not " + std::to_string(degree)));
}

/// Part of a stage's bytes that one device keeps when the dense part is cut over the gradient group
/// and the experts' over theirs.
double kept_share(const ParallelLayout& layout, Bytes experts, Bytes whole) {
  const double expert_share = whole.value > 0 ? std::min(1.0, experts.value / whole.value) : 0;
  return (1 - expert_share) / layout.gradient_group() +
         expert_share / layout.expert_gradient_group();
}

}  // namespace

std::string_view dimension_name(ParallelDimension dimension) {
  switch (dimension) {
    case ParallelDimension::Tensor:
      return "tensor";
    case ParallelDimension::Context:
      return "context";
    case ParallelDimension::Expert:
      return "expert";
    case ParallelDimension::Data:
      return "data";
    case ParallelDimension::Pipeline:
      return "pipeline";
  }
  return {};
}

std::string_view dimension_abbreviation(ParallelDimension dimension) {
  switch (dimension) {
    case ParallelDimension::Tensor:
      return "tp";
    case ParallelDimension::Context:
      return "cp";
    case ParallelDimension::Expert:
      return "ep";
    case ParallelDimension::Data:
      return "dp";
    case ParallelDimension::Pipeline:
      return "pp";
  }
  return {};
}

int degree(const ParallelLayout& layout, ParallelDimension dimension) {
  switch (dimension) {
    case ParallelDimension::Tensor:
      return layout.tensor;
    case ParallelDimension::Context:
      return layout.context;
    case ParallelDimension::Expert:
      return layout.expert;
    case ParallelDimension::Data:
      return layout.data;
    case ParallelDimension::Pipeline:
      return layout.pipeline;
  }
  return 1;
}

std::string order_text(const DimensionOrder& order) {
  std::string text;
  for (const ParallelDimension dimension : order)
    text += (text.empty() ? "" : "-") + std::string(dimension_abbreviation(dimension));
  return text;
}

Diagnostics check(const ParallelLayout& layout) {
  Diagnostics faults;
  require_positive(faults, "tensor", layout.tensor);
  require_positive(faults, "pipeline", layout.pipeline);
  require_positive(faults, "context", layout.context);
  require_positive(faults, "data", layout.data);
  require_positive(faults, "expert", layout.expert);
  require_positive(faults, "expert_tensor", layout.expert_tensor);
  if (layout.zero < 0 || layout.zero > 3) faults.push_back(input_error("zero must be from 0 to 3"));
  if (!faults.empty()) return faults;
  std::int64_t devices = 1;
  for (const int degree : {layout.tensor, layout.pipeline, layout.context, layout.data})
    devices = std::min<std::int64_t>(devices * degree, std::int64_t{kMaxLayoutDevices} + 1);
  if (devices > kMaxLayoutDevices)
    return {input_error("tensor × pipeline × context × data is more than the allowed " +
                        std::to_string(kMaxLayoutDevices) + " devices")};
  const std::int64_t experts = std::int64_t{layout.expert} * layout.expert_tensor;
  const int group = bounded_product({layout.data, layout.context, layout.tensor});
  if (group % experts != 0)
    faults.push_back(infeasible("expert × expert_tensor is " + std::to_string(experts) +
                                    " and must divide data × context × tensor, which is " +
                                    std::to_string(group),
                                "the expert group reuses those devices"));
  return faults;
}

Workload sharded(Workload workload, const ParallelLayout& layout) {
  if (layout.zero == 0) return workload;
  for (std::size_t stage = 0; stage < workload.bytes.size(); ++stage) {
    StageBytes& bytes = workload.bytes[stage];
    const StageSync sync = stage < workload.sync.size() ? workload.sync[stage] : StageSync{};
    const double kept = kept_share(layout, sync.expert_parameters, sync.parameters);
    bytes.optimizer = bytes.optimizer * kept;
    if (layout.zero >= 2) bytes.gradients = bytes.gradients * kept;
    if (layout.gathers_each_use()) bytes.parameters = bytes.parameters * kept;
  }
  return workload;
}

}  // namespace pipecast

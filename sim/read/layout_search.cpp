#include "sim/read/layout_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace pipecast {
namespace {

std::vector<int> divisors(int number, int most) {
  std::vector<int> result;
  for (int divisor = 1; divisor <= std::min(number, most); ++divisor)
    if (number % divisor == 0) result.push_back(divisor);
  return result;
}

std::vector<int> powers_of_two(int most) {
  std::vector<int> result;
  for (int power = 1; power <= most; power *= 2) result.push_back(power);
  return result;
}

std::vector<int> one_to(int most) {
  std::vector<int> result;
  for (int number = 1; number <= most; ++number) result.push_back(number);
  return result;
}

/// The bounds with every empty list filled in.
LayoutBounds complete(LayoutBounds bounds, const LayoutProblem& problem) {
  const TransformerModel& model = problem.plan.model;
  const auto fill = [](std::vector<int>& list, std::vector<int> otherwise) {
    if (list.empty()) list = std::move(otherwise);
  };
  fill(bounds.tensor, divisors(problem.domain, problem.domain));
  fill(bounds.pipeline, divisors(problem.devices, model.layers));
  fill(bounds.context, powers_of_two(std::max(1, problem.plan.layout.sequence / kSearchedTokens)));
  fill(bounds.expert,
       model.has_experts() ? divisors(model.experts.count, model.experts.count) : std::vector{1});
  fill(bounds.chunks, one_to(kSearchedChunks));
  fill(bounds.microbatch_size, powers_of_two(kSearchedMicrobatchSize));
  if (bounds.recompute.empty())
    bounds.recompute = problem.plan.kernels.fused_attention
                           ? std::vector{Recompute::None, Recompute::Full}
                           : std::vector{Recompute::None, Recompute::Selective, Recompute::Full};
  if (bounds.schedules.empty())
    bounds.schedules.assign(std::begin(kSearchedSchedules), std::end(kSearchedSchedules));
  return bounds;
}

/// How far a layout came before something did not fit.
enum class Gate : std::uint8_t { None, Devices, Model, Stages, Batch, Schedule };

class Search {
 public:
  Search(const LayoutBounds& bounds, const LayoutProblem& problem,
         std::span<const ScheduleInfo> schedules)
      : bounds_(complete(bounds, problem)), problem_(problem) {
    for (const std::string& name : bounds_.schedules)
      if (const auto found =
              std::find_if(schedules.begin(), schedules.end(),
                           [&](const ScheduleInfo& info) { return info.name == name; });
          found != schedules.end())
        schedules_.push_back({&*found, parse_fields(found->fields, {}).value_or(FieldValues{})});
  }

  Result<std::vector<LayoutChoice>> run() {
    layout_ = problem_.plan.layout;
    for (const int tensor : bounds_.tensor)
      for (const int pipeline : bounds_.pipeline)
        for (const int context : bounds_.context) try_degrees(tensor, pipeline, context);
    if (found_.empty()) return fail(std::move(nearest_));
    return std::move(found_);
  }

 private:
  struct Candidate {
    const ScheduleInfo* schedule;
    FieldValues params;
  };

  void reject(Gate gate, Diagnostics why) {
    if (gate <= farthest_) return;
    farthest_ = gate;
    nearest_ = std::move(why);
  }

  void try_degrees(int tensor, int pipeline, int context) {
    const std::int64_t group = std::int64_t{tensor} * pipeline * context;
    if (problem_.devices % group != 0) {
      reject(Gate::Devices,
             {infeasible(fmt::format(
                 "{} devices do not divide by tensor × pipeline × context, {} × {} × {}",
                 problem_.devices, tensor, pipeline, context))});
      return;
    }
    const int data = static_cast<int>(problem_.devices / group);
    if (!bounds_.data.empty() &&
        std::find(bounds_.data.begin(), bounds_.data.end(), data) == bounds_.data.end()) {
      reject(Gate::Devices,
             {infeasible(fmt::format("tensor × pipeline × context, {} × {} × {}, leave {} of {} "
                                     "devices to data, which is not among its bounds",
                                     tensor, pipeline, context, data, problem_.devices))});
      return;
    }
    layout_.tensor = tensor;
    layout_.pipeline = pipeline;
    layout_.context = context;
    layout_.data = data;
    for (const int expert : bounds_.expert) try_expert(expert);
  }

  void try_expert(int expert) {
    layout_.expert = expert;
    layout_.chunks = 1;
    layout_.microbatch_size = 1;
    layout_.global_batch = layout_.data;  // the batch has a gate of its own
    if (Diagnostics faults = check(layout_, problem_.plan.model); !faults.empty()) {
      reject(Gate::Model, std::move(faults));
      return;
    }
    layout_.global_batch = problem_.global_batch;
    for (const int chunks : bounds_.chunks) {
      if (layout_.pipeline == 1 && chunks > 1) continue;
      layout_.chunks = chunks;
      if (can_split()) try_batches();
    }
  }

  bool can_split() {
    const TransformerModel& model = problem_.plan.model;
    Diagnostics faults;
    switch (problem_.plan.split.kind) {
      case SplitChoice::Kind::Balanced:
        if (layout_.stages() > model.layers)
          faults.push_back(infeasible(fmt::format("{} stages are more than the model's {} layers",
                                                  layout_.stages(), model.layers)));
        break;
      case SplitChoice::Kind::Even: {
        auto stages = split_layers(model, layout_, problem_.plan.split.rule);
        if (!stages) faults = std::move(stages.error());
        break;
      }
      case SplitChoice::Kind::Layout: {
        auto stages = parse_layout_string(problem_.plan.split.layout);
        if (!stages)
          faults = std::move(stages.error());
        else if (stages->size() != static_cast<std::size_t>(layout_.stages()))
          faults.push_back(infeasible(fmt::format("the layout string has {} stages, not {}",
                                                  stages->size(), layout_.stages())));
        break;
      }
    }
    const bool fits = faults.empty();
    if (!fits) reject(Gate::Stages, std::move(faults));
    return fits;
  }

  void try_batches() {
    for (const int size : bounds_.microbatch_size) {
      layout_.microbatch_size = size;
      const Result<int> count = pipecast::microbatches(layout_);
      const Shape shape{layout_.pipeline, layout_.chunks, count.value_or(1)};
      Diagnostics faults = count ? check(shape) : count.error();
      if (faults.empty())
        try_schedules(shape);
      else
        reject(Gate::Batch, std::move(faults));
    }
  }

  void try_schedules(const Shape& shape) {
    const Workload equal = uniform_workload(shape, {{1}, {1}, {1}});
    for (const Candidate& candidate : schedules_) {
      if (shape.chunks == 1 && candidate.schedule->default_chunks > 1) continue;
      Diagnostics faults = candidate.schedule->check({shape, candidate.params, equal, {}});
      if (!faults.empty()) {
        reject(Gate::Schedule, std::move(faults));
        continue;
      }
      for (const Recompute recompute : bounds_.recompute) {
        layout_.recompute = recompute;
        found_.push_back({layout_, std::string(candidate.schedule->name)});
      }
      if (shape.ranks == 1) return;
    }
  }

  LayoutBounds bounds_;
  const LayoutProblem& problem_;
  std::vector<Candidate> schedules_;
  ParallelLayout layout_;
  std::vector<LayoutChoice> found_;
  Gate farthest_ = Gate::None;
  Diagnostics nearest_;
};

}  // namespace

Result<std::vector<LayoutChoice>> search_layouts(const LayoutBounds& bounds,
                                                 const LayoutProblem& problem,
                                                 std::span<const ScheduleInfo> schedules) {
  return Search(bounds, problem, schedules).run();
}

}  // namespace pipecast

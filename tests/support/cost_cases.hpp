#pragma once
#include "sim/cost/derive.hpp"

namespace pipecast::testing {

/// A device of round numbers: 300 and 600 TFLOP/s, 2 TB/s, everything measured.
inline Figure figure(double value) { return {value, "test", Certainty::Measured, {}}; }

inline KernelFacts facts() {
  KernelFacts facts;
  facts.matmul = {figure(0.75), figure(0.7), std::nullopt};
  facts.memory = figure(0.8);
  facts.kernel_gap = figure(0);
  facts.attention_forward = figure(0.7);
  facts.attention_backward = figure(0.6);
  facts.flash2_forward = figure(0.35);
  facts.flash2_backward = figure(0.3);
  facts.multiprocessors = figure(100);
  return facts;
}

inline Accelerator an_accelerator() {
  Accelerator accelerator;
  accelerator.id = accelerator.name = "x1";
  accelerator.vendor = "test";
  accelerator.figures.resize(property_table().size());
  accelerator.figures[static_cast<std::size_t>(Property::PeakBf16)] = figure(300e12);
  accelerator.figures[static_cast<std::size_t>(Property::PeakFp8)] = figure(600e12);
  accelerator.figures[static_cast<std::size_t>(Property::MemoryBandwidth)] = figure(2e12);
  return accelerator;
}

inline DeviceModel a_device() { return device_model(an_accelerator(), facts()).value(); }

/// GPT of a width, its heads 128 wide; whole plans and what they come to on one kind of device.
inline TransformerModel gpt(int layers, int hidden) {
  TransformerModel model;
  model.name = "gpt";
  model.layers = layers;
  model.hidden = hidden;
  model.heads = model.key_value_heads = hidden / 128;
  model.head_width = 128;
  model.feed_forward = 4 * hidden;
  model.vocabulary = 51200;
  model.max_position = 2048;
  model.norm = Norm::LayerNorm;
  model.position = Position::Learned;
  model.gated = false;
  return model;
}

inline TrainingPlan plan_of(int layers, int hidden, int pipeline) {
  TrainingPlan plan;
  plan.model = gpt(layers, hidden);
  plan.layout.pipeline = pipeline;
  plan.layout.sequence = 2048;
  plan.layout.global_batch = 8;
  return plan;
}

inline Placement loop_of(const TrainingPlan& plan) {
  return loop_placement({plan.layout.pipeline, plan.layout.chunks, 1});
}

inline PlanMachine machine_of(const TrainingPlan& plan, const DeviceModel& device) {
  return uniform_machine(device, unknown_links(plan.layout), plan.layout.devices());
}

inline TrainingPlan staged(const TrainingPlan& plan, const PlanMachine& machine) {
  return with_stages(plan, machine, loop_of(plan)).value();
}
inline TrainingPlan staged(const TrainingPlan& plan, const DeviceModel& device) {
  return staged(plan, machine_of(plan, device));
}

inline Result<Derivation> derived_on(const TrainingPlan& plan, const PlanMachine& machine) {
  return derive(plan, machine, loop_of(plan));
}
inline Derivation derived(const TrainingPlan& plan, const DeviceModel& device) {
  return derived_on(staged(plan, device), machine_of(plan, device)).value();
}

}  // namespace pipecast::testing

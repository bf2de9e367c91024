#include "sim/cost/encoder_time.hpp"

#include "sim/cost/unit_builder.hpp"

namespace pipecast {
namespace {

constexpr double kElement = 2;

/// The encoder as a plan of its own: its shape, its sequence, the same groups and kernels. Pixels
/// stay in 16 bits whatever the decoder's matrices do.
TrainingPlan encoder_plan(const TrainingPlan& plan) {
  TrainingPlan inner = plan;
  inner.model = encoder_model(plan.model);
  inner.layout.sequence = plan.model.encoder.tokens;
  inner.layout.context = 1;
  inner.layout.expert = 1;
  return inner;
}

UnitSeconds token_seconds(const TrainingPlan& inner, const Encoder& encoder,
                          const DeviceModel& device, const ClusterLinks& links) {
  UnitBuilder unit(inner, device, links);
  const double values = unit.tokens() * encoder.hidden;
  unit.linear_16(unit.tokens(), encoder.token_values, encoder.hidden);
  unit.stream(3 * kElement * values, 3 * kElement * values);  // positions are added
  UnitSeconds seconds = unit.finish();
  // Nobody needs the gradient of pixels.
  seconds.input = {};
  return seconds;
}

UnitSeconds connector_seconds(const TrainingPlan& inner, const TrainingPlan& plan,
                              const DeviceModel& device, const ClusterLinks& links) {
  const Encoder& encoder = plan.model.encoder;
  UnitBuilder unit(inner, device, links);
  const double values = unit.tokens() * encoder.hidden;
  const double merged = unit.tokens() / encoder.merge;
  const double hidden = plan.model.hidden;
  unit.stream(2 * kElement * values, 3 * kElement * values);
  unit.linear_16(merged, double{1} * encoder.hidden * encoder.merge, hidden);
  unit.stream(2 * kElement * merged * hidden, 3 * kElement * merged * hidden);
  unit.linear_16(merged, hidden, hidden);
  return unit.finish();
}

}  // namespace

EncoderPrices encoder_prices(const TrainingPlan& plan, const DeviceModel& device,
                             const ClusterLinks& links) {
  EncoderPrices prices;
  if (!plan.model.has_encoder()) return prices;
  const TrainingPlan inner = encoder_plan(plan);
  const bool recomputed = plan.layout.recompute != Recompute::None;
  prices.layer = layer_seconds(inner, device, links, LayerKind::Dense, recomputed);
  prices.tokens = token_seconds(inner, plan.model.encoder, device, links);
  prices.connector = connector_seconds(inner, plan, device, links);
  prices.held = recomputed
                    ? layer_activation(inner.model, inner.layout, plan.kernels, LayerKind::Dense)
                    : layer_working_set(inner.model, inner.layout, plan.kernels, LayerKind::Dense);
  prices.message = boundary_message(inner.model, inner.layout, plan.kernels);
  return prices;
}

}  // namespace pipecast

#include "sim/cost/pointwise.hpp"

#include <initializer_list>

namespace pipecast {
namespace {

constexpr double kHalf = 2;   // bytes of a 16-bit value
constexpr double kFloat = 4;  // … of a 32-bit one

struct Chain {
  std::initializer_list<double> forward;  ///< bytes per value of each operation
  std::initializer_list<double> backward;
};

void add_chain(UnitBuilder& unit, double values, const Chain& chain) {
  for (const double bytes : chain.forward) unit.stream(bytes * values, 0);
  for (const double bytes : chain.backward) unit.stream_back(bytes * values);
}

}  // namespace

void add_norm(UnitBuilder& unit, const TrainingPlan& plan, double values) {
  if (!plan.eager || plan.model.norm != Norm::RmsNorm)
    return unit.stream(2 * kHalf * values, 3 * kHalf * values);
  add_chain(unit, values,
            {{kHalf + kFloat, 2 * kFloat, kFloat, 2 * kFloat, kFloat + kHalf, 2 * kHalf},
             // Weight: product, and its own gradient; scale; mean; square; sum of both ways.
             {2 * kHalf, 3 * kHalf, kHalf, kHalf + kFloat, 2 * kFloat, 3 * kFloat, kFloat,
              2 * kFloat, 3 * kFloat, kFloat + kHalf}});
}

void add_rotation(UnitBuilder& unit, const TrainingPlan& plan, double values) {
  if (!plan.eager) return unit.stream(2 * kHalf * values, 2 * kHalf * values);
  add_chain(
      unit, values,
      {{kHalf + kFloat, 2 * kFloat, kFloat + kHalf}, {kHalf + kFloat, 2 * kFloat, kFloat + kHalf}});
}

void add_eager_gate(UnitBuilder& unit, double values) {
  add_chain(unit, values, {{2 * kHalf, 3 * kHalf}, {3 * kHalf, 3 * kHalf, 3 * kHalf}});
}

void add_eager_copies(UnitBuilder& unit, const TrainingPlan& plan) {
  const TransformerModel& model = plan.model;
  const double tokens = unit.tokens() / plan.layout.tensor;
  const double queries = tokens * model.query_width();
  const double keys = tokens * model.key_value_heads * model.head_width;
  if (keys < queries)
    for (int keys_and_values = 0; keys_and_values < 2; ++keys_and_values)
      unit.stream(kHalf * (keys + queries), kHalf * (keys + queries));
  unit.stream(2 * kHalf * queries, 2 * kHalf * queries);
}

void add_loss(UnitBuilder& unit, const TrainingPlan& plan, double logits) {
  if (plan.eager)
    // To 32 bits, logarithm of the softmax; backward: zeros, softmax, to 16 bits.
    return add_chain(unit, logits,
                     {{kHalf + kFloat, 3 * kFloat}, {kFloat, 3 * kFloat, kFloat + kHalf}});
  if (!plan.fused_loss)
    // To 32 bits, maximum, difference, exponential, sum, quotient; backward: scale, to 16 bits.
    return add_chain(unit, logits,
                     {{kHalf + kFloat, kFloat, 2 * kFloat, 2 * kFloat, kFloat, 2 * kFloat},
                      {2 * kFloat, kFloat + kHalf}});
  // Logits to 32 bits, maximum, exponential and sum; backward: scale, subtract, to 16 bits.
  unit.stream((kHalf + 4 * kFloat) * logits, (kFloat + kHalf) * logits);
}

}  // namespace pipecast

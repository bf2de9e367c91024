#include "sim/cost/ulysses.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace pipecast {

Diagnostics check_ulysses(const ParallelLayout& layout, const TransformerModel& model) {
  const int heads = model.heads;
  // Latent keys and values are projected to every head before they are exchanged.
  const int key_value = model.has_latent_attention() ? heads : model.key_value_heads;
  const auto fits = [&](int context) {
    const std::int64_t group = std::int64_t{layout.tensor} * context;
    return heads % group == 0 && (key_value % group == 0 || group % key_value == 0);
  };
  if (layout.context == 1 || fits(layout.context)) return {};
  std::vector<std::string> good;
  for (int context = 1; context <= heads; ++context)
    if (fits(context)) good.push_back(std::to_string(context));
  std::string words;
  for (const std::string& degree : good) words += (words.empty() ? "" : ", ") + degree;
  return {infeasible(
      "context_exchange ulysses: tensor × context is " + std::to_string(layout.tensor) + " × " +
          std::to_string(layout.context) + " and does not divide " + std::to_string(heads) +
          " heads with " + std::to_string(key_value) + " of keys and values",
      words.empty() ? "no degree does: make tensor smaller" : "context degrees that do: " + words)};
}

double ulysses_copies(const ParallelLayout& layout, const TransformerModel& model) {
  if (model.has_latent_attention()) return 1;
  const double held = std::max(model.key_value_heads, layout.tensor);
  return std::max(1.0, double{1} * layout.tensor * layout.context / held);
}

}  // namespace pipecast

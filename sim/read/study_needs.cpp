#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/read/study_parts.hpp"

namespace pipecast {
namespace {

/// What a figure is computed from, beside the step time.
struct Needs {
  bool tokens = false;  ///< of a step
  bool budget = false;  ///< of tokens, for the whole run
  bool money = false;
  bool power = false;
};

Needs needs_of(Objective objective) {
  switch (objective) {
    case Objective::TokensPerSecond:
    case Objective::TokensPerSecondPerDevice:
      return {.tokens = true};
    case Objective::UsdPerMillionTokens:
      return {.tokens = true, .money = true};
    case Objective::Usd:
      return {.tokens = true, .budget = true, .money = true};
    case Objective::Days:
      return {.tokens = true, .budget = true};
    case Objective::Energy:
      return {.tokens = true, .budget = true, .power = true};
    case Objective::StepTime:
    case Objective::Devices:
    case Objective::PeakMemory:
    case Objective::Bubble:
      return {};
  }
  return {};
}

struct ConstraintNeeds {
  std::string_view key;
  Needs needs;
};
constexpr std::array kConstraintNeeds{
    ConstraintNeeds{"budget", {.tokens = true, .budget = true, .money = true}},
    ConstraintNeeds{"power", {.power = true}},
    ConstraintNeeds{"time", {.tokens = true, .budget = true}},
    ConstraintNeeds{"tokens_per_s", {.tokens = true}},
};

bool mentions_model(std::string_view path) {
  return path == "model" || path.ends_with(".model") || path.starts_with("model.") ||
         path.find(".model.") != std::string_view::npos;
}

bool mentions_model(const YamlNode& node) {
  return std::any_of(node.items.begin(), node.items.end(),
                     [](const YamlNode& item) { return mentions_model(item); }) ||
         std::any_of(node.entries.begin(), node.entries.end(), [](const YamlEntry& entry) {
           return mentions_model(entry.key) || mentions_model(entry.value);
         });
}

bool mentions_model(const std::vector<Axis>& axes) {
  const auto in_entry = [](const std::vector<YamlNode>& entry) {
    return std::any_of(entry.begin(), entry.end(),
                       [](const YamlNode& value) { return mentions_model(value); });
  };
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    return std::any_of(axis.keys.begin(), axis.keys.end(),
                       [](const std::string& key) { return mentions_model(key); }) ||
           std::any_of(axis.entries.begin(), axis.entries.end(), in_entry);
  });
}

/// A scenario with a model knows its tokens. Whether each candidate has one is seen when it is
/// read.
bool mentions_model(const Study& study) {
  return mentions_model(study.base.root) || mentions_model(study.axes) ||
         std::any_of(study.clusters.begin(), study.clusters.end(),
                     [](const QuotedCluster& cluster) {
                       return mentions_model(cluster.axes) ||
                              std::any_of(cluster.settings.begin(), cluster.settings.end(),
                                          [](const auto& setting) {
                                            return mentions_model(setting.first) ||
                                                   mentions_model(setting.second);
                                          });
                     });
}

bool any_accelerator(const Quote& quote, Uncertain AcceleratorQuote::*amount) {
  return std::any_of(quote.accelerators.begin(), quote.accelerators.end(),
                     [&](const AcceleratorQuote& own) { return (own.*amount).high > 0; });
}

bool has_power(const Quote& quote) {
  return quote.power_per_device.high > 0 || quote.power_per_node.high > 0 ||
         any_accelerator(quote, &AcceleratorQuote::power_per_device);
}

bool has_price(const Quote& quote) {
  return any_accelerator(quote, &AcceleratorQuote::price_per_device) ||
         any_accelerator(quote, &AcceleratorQuote::rent_per_device_hour) ||
         quote.price_per_device.high > 0 || quote.price_per_node.high > 0 ||
         quote.rent_per_device_hour.high > 0 ||
         (quote.electricity_per_kwh.high > 0 && has_power(quote));
}

std::string owner_of(const QuotedCluster& cluster) {
  return cluster.name.empty() ? "the study" : fmt::format("cluster '{}'", cluster.name);
}

/// Reports what a goal lacks, the first thing only: one fault per goal.
class NeedCheck {
 public:
  explicit NeedCheck(const Study& study)
      : study_(study),
        knows_tokens_(study.training.tokens_per_microbatch > 0 || mentions_model(study)) {}

  void check(const YamlCursor& goal, std::string_view name, const Needs& needs) const {
    const auto without = [&](bool (*has)(const Quote&)) {
      return std::find_if(study_.clusters.begin(), study_.clusters.end(),
                          [&](const QuotedCluster& cluster) { return !has(cluster.quote); });
    };
    const auto end = study_.clusters.end();
    const auto free = without(has_price);
    const auto cold = without(has_power);
    if (needs.tokens && !knows_tokens_)
      goal.fault(fmt::format("{} needs the tokens of a step: the scenario has no model", name),
                 "training: {tokens_per_microbatch: 4096}");
    else if (needs.budget && !(study_.training.tokens > 0))
      goal.fault(fmt::format("{} needs the tokens of the whole run", name),
                 "training: {tokens: 15e12}");
    else if (needs.money && free != end)
      goal.fault(
          fmt::format("{} needs a price: {} has neither price nor rent", name, owner_of(*free)),
          "quote: {rent_per_device_hour: 2.5 USD}");
    else if (needs.power && cold != end)
      goal.fault(fmt::format("{} needs a power: {} has none", name, owner_of(*cold)),
                 "quote: {power_per_device: 1275 W}");
  }

 private:
  const Study& study_;
  bool knows_tokens_;
};

}  // namespace

void check_needs(const YamlCursor& root, const Study& study) {
  const NeedCheck check(study);
  if (const auto given = root.find("objectives")) {
    const auto name = [](Objective goal) {
      return "objective " + std::string(objective_name(goal));
    };
    const bool is_list = given->is_list() && given->size() == study.objectives.size();
    for (std::size_t i = 0; i < study.objectives.size(); ++i)
      check.check(is_list ? given->item(i) : *given, name(study.objectives[i]),
                  needs_of(study.objectives[i]));
  }
  if (const auto given = root.find("constraints"); given && given->is_map())
    for (const ConstraintNeeds& constraint : kConstraintNeeds)
      if (const auto limit = given->find(constraint.key))
        check.check(*limit, limit->path(), constraint.needs);
}

}  // namespace pipecast

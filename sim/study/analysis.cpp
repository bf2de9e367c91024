#include "sim/study/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "sim/read/study_candidate.hpp"
#include "sim/study/random_source.hpp"

namespace pipecast {
namespace {

constexpr double kTenth = 0.1;

/// The step time of a row under a variation: the row's own, scaled as the longest path scales.
class StepScaler {
 public:
  StepScaler(Evaluator& evaluator, const StudyRow& row) : evaluator_(evaluator), row_(row) {
    base_s_ = evaluator.evaluate(row.candidate, Tier::Screening).figures.step_s;
  }
  StudyRow under(const Variation& variation) {
    StudyRow result = row_;
    if (variation == Variation{} || !(base_s_ > 0)) return result;
    const StudyRow varied = evaluator_.evaluate(row_.candidate, Tier::Screening, variation);
    result.figures.step_s *= varied.figures.step_s / base_s_;
    return result;
  }

 private:
  Evaluator& evaluator_;
  const StudyRow& row_;
  double base_s_ = 0;
};

Verdict with_quote(const Study& study, StudyRow row, std::size_t cluster, const FirmQuote& quote) {
  return judge(study, std::move(row), cluster, quote);
}

std::string percent(double factor) { return fmt::format("{:+.0f} %", 100 * (factor - 1)); }

FirmQuote scaled_prices(FirmQuote quote, double factor) {
  quote.price_per_device *= factor;
  quote.capital_per_device *= factor;
  quote.rent_per_device_hour *= factor;
  for (FirmAccelerator& own : quote.accelerators) {
    own.price *= factor;
    own.rent_per_hour *= factor;
  }
  return quote;
}

FirmQuote scaled_power(FirmQuote quote, double factor) {
  quote.device_power_w *= factor;
  quote.power_per_device_w *= factor;
  for (FirmAccelerator& own : quote.accelerators) own.power_w *= factor;
  return quote;
}

Sensitivity described(const Study& study, const Verdict& before, const Verdict& after,
                      std::string what) {
  const Objective objective = study.objectives.front();
  const double value = objective_value(after, objective);
  return {std::move(what), after.row.figures.step_s, value,
          value / objective_value(before, objective) - 1};
}

bool has_ranges(const Quote& quote) {
  const std::array ranges{quote.price_per_device,
                          quote.price_per_node,
                          quote.network_per_device,
                          quote.network_per_node,
                          quote.facility_per_node,
                          quote.rent_per_device_hour,
                          quote.power_per_device,
                          quote.power_per_node,
                          quote.electricity_per_kwh,
                          quote.power_usage_effectiveness,
                          quote.goodput};
  const auto is_range = [](const Uncertain& range) { return range.is_range(); };
  return std::any_of(ranges.begin(), ranges.end(), is_range) ||
         std::any_of(quote.accelerators.begin(), quote.accelerators.end(),
                     [&](const AcceleratorQuote& own) {
                       return is_range(own.price_per_device) ||
                              is_range(own.rent_per_device_hour) || is_range(own.power_per_device);
                     });
}

/// What the devices of a candidate cost, each by its accelerator.
FirmQuote quote_of(const Study& study, const Verdict& verdict) {
  return blended(firm(study.clusters[verdict.cluster].quote), verdict.row);
}

bool samples_steps(const Sampling& sampling) {
  return sampling.compute != Uncertain{1, 1} || sampling.bandwidth != Uncertain{1, 1} ||
         sampling.latency != Uncertain{1, 1} || sampling.jitter.high > 0;
}

/// The best of all, and the best of every cluster.
std::vector<std::size_t> contenders(const Ranking& ranking, std::size_t count) {
  std::vector<std::size_t> result;
  std::set<std::size_t> clusters;
  for (const std::size_t index : ranking.ranked)
    if (result.size() < count || !clusters.contains(ranking.verdicts[index].cluster)) {
      result.push_back(index);
      clusters.insert(ranking.verdicts[index].cluster);
    }
  return result;
}

double drawn(RandomSource& random, const Uncertain& range) {
  return range.low + (range.high - range.low) * random.uniform();
}

/// What one sample says about one cluster.
struct Draw {
  Variation variation;
  FirmQuote quote;
};

Draw draw_cluster(const Study& study, std::size_t cluster, int sample) {
  const Sampling& sampling = study.sampling;
  RandomSource random(static_cast<std::uint64_t>(sampling.seed) * 0x9E3779B97F4A7C15ULL +
                      static_cast<std::uint64_t>(sample) * kMaxClusters + cluster);
  Draw draw;
  draw.quote = firm(study.clusters[cluster].quote,
                    [&](const Uncertain& range) { return drawn(random, range); });
  draw.variation.compute = drawn(random, sampling.compute);
  draw.variation.bandwidth = drawn(random, sampling.bandwidth);
  draw.variation.latency = drawn(random, sampling.latency);
  draw.variation.jitter = drawn(random, sampling.jitter);
  draw.variation.seed = random.bits();
  if (!samples_steps(sampling)) draw.variation = {};
  return draw;
}

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(at + 0.5)];
}

}  // namespace

std::vector<Sensitivity> sensitivity_of(const Study& study, Evaluator& evaluator,
                                        const Verdict& verdict) {
  const FirmQuote quote = firm(study.clusters[verdict.cluster].quote);
  StepScaler scaler(evaluator, verdict.row);
  std::vector<Sensitivity> result;
  const auto add = [&](const std::string& what, const Variation& variation, const FirmQuote& with) {
    result.push_back(described(
        study, verdict, with_quote(study, scaler.under(variation), verdict.cluster, with), what));
  };
  for (const double factor : {1 - kTenth, 1 + kTenth}) {
    Variation compute;
    compute.compute = factor;
    add("compute rate " + percent(factor), compute, quote);
    Variation bandwidth;
    bandwidth.bandwidth = factor;
    add("bandwidth " + percent(factor), bandwidth, quote);
    Variation latency;
    latency.latency = factor;
    add("latency " + percent(factor), latency, quote);
    add("prices " + percent(factor), {}, scaled_prices(quote, factor));
    add("power " + percent(factor), {}, scaled_power(quote, factor));
  }
  Variation straggler;
  straggler.slowest_rank = 1 + kTenth;
  add("one rank 10 % slower", straggler, quote);
  return result;
}

std::vector<Sampled> sample_ranges(const Study& study, Evaluator& evaluator, const Ranking& ranking,
                                   std::size_t candidates) {
  const bool priced =
      std::any_of(study.clusters.begin(), study.clusters.end(),
                  [](const QuotedCluster& cluster) { return has_ranges(cluster.quote); });
  const int samples = study.sampling.samples > 0 ? study.sampling.samples : priced ? 200 : 0;
  if (samples == 0 || (!priced && !samples_steps(study.sampling))) return {};
  const std::vector<std::size_t> chosen = contenders(ranking, candidates);
  std::vector<Sampled> result;
  std::vector<StepScaler> scalers;
  for (const std::size_t index : chosen) {
    result.push_back({index, 0, 0, 0, 0});
    scalers.emplace_back(evaluator, ranking.verdicts[index].row);
  }
  if (result.empty()) return result;
  const Objective objective = study.objectives.front();
  std::vector<std::vector<double>> values(chosen.size());
  std::vector<std::pair<double, std::size_t>> best(static_cast<std::size_t>(samples),
                                                   {std::numeric_limits<double>::infinity(), 0});
  // One candidate after the other: the evaluator keeps what all samples of one have in common.
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    const std::size_t cluster = ranking.verdicts[chosen[c]].cluster;
    for (int sample = 0; sample < samples; ++sample) {
      const Draw draw = draw_cluster(study, cluster, sample);
      const Verdict verdict =
          with_quote(study, scalers[c].under(draw.variation), cluster, draw.quote);
      values[c].push_back(objective_value(verdict, objective));
      if (verdict.feasible())
        best[static_cast<std::size_t>(sample)] = std::min(best[static_cast<std::size_t>(sample)],
                                                          {objective_key(verdict, objective), c});
    }
  }
  for (const auto& [key, c] : best)
    if (std::isfinite(key)) ++result[c].wins;
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    std::sort(values[c].begin(), values[c].end());
    result[c].low = quantile(values[c], 0.05);
    result[c].median = quantile(values[c], 0.5);
    result[c].high = quantile(values[c], 0.95);
  }
  return result;
}

std::vector<BreakEven> break_evens(const Study& study, const Ranking& ranking) {
  std::vector<std::size_t> best(study.clusters.size(), ranking.verdicts.size());
  const auto cost = [&](std::size_t index) {
    return objective_key(ranking.verdicts[index], Objective::UsdPerMillionTokens);
  };
  for (const std::size_t index : ranking.ranked) {
    std::size_t& known = best[ranking.verdicts[index].cluster];
    if (std::isfinite(cost(index)) &&
        (known == ranking.verdicts.size() || cost(index) < cost(known)))
      known = index;
  }
  std::erase(best, ranking.verdicts.size());
  std::stable_sort(best.begin(), best.end(),
                   [&](std::size_t a, std::size_t b) { return cost(a) < cost(b); });
  std::vector<BreakEven> result;
  for (std::size_t i = 1; i < best.size(); ++i) {
    BreakEven even{best[0], best[i], 0, std::nullopt};
    const Verdict& dear = ranking.verdicts[best[i]];
    const FirmQuote quote = quote_of(study, dear);
    const double power =
        dear.worth.paid_devices * quote.power_per_device_w / 1000 * quote.electricity_per_kwh;
    const double prices = dear.worth.usd_per_hour - power;
    const double allowed = cost(best[0]) * dear.worth.tokens_per_s * 3600 / 1e6;
    if (prices > 0) even.price_factor = (allowed - power) / prices;
    for (const auto& [bought, rented] :
         {std::pair{best[0], best[i]}, std::pair{best[i], best[0]}}) {
      const Worth& own = ranking.verdicts[bought].worth;
      const FirmQuote terms = quote_of(study, ranking.verdicts[bought]);
      const FirmQuote rent = quote_of(study, ranking.verdicts[rented]);
      if (!(own.capital_usd > 0) || !(rent.rent_per_device_hour > 0)) continue;
      const double running = own.paid_devices * terms.power_per_device_w / 1000 *
                             terms.electricity_per_kwh / 3600 / own.tokens_per_s;
      const double per_token = cost(rented) / 1e6 - running;
      if (per_token > 0) even.tokens = own.capital_usd / per_token;
    }
    result.push_back(even);
  }
  return result;
}

std::vector<std::string> launch_lines(const Study& study, std::int64_t candidate) {
  const CandidateChoice choice = choice_of(study, candidate);
  std::string line = "pipecast run " + study.base_file;
  const auto set = [&](const std::string& key, const YamlNode& value) {
    line += fmt::format(" --set '{}={}'", key, flow_text(value));
  };
  for (const auto& [key, value] : study.clusters[choice.cluster].settings) set(key, value);
  const std::vector<const Axis*> axes = axes_of(study, choice.cluster);
  std::map<std::string, std::string, std::less<>> values;
  for (std::size_t a = 0; a < axes.size(); ++a)
    for (std::size_t k = 0; k < axes[a]->keys.size(); ++k) {
      set(axes[a]->keys[k], axes[a]->entries[choice.entries[a]][k]);
      values[axes[a]->keys[k]] = flow_text(axes[a]->entries[choice.entries[a]][k]);
    }
  std::vector<std::string> lines{line};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kMegatron{{
      {"workload.parallel.tensor", "--tensor-model-parallel-size"},
      {"pipeline.ranks", "--pipeline-model-parallel-size"},
      {"workload.parallel.context", "--context-parallel-size"},
      {"workload.parallel.expert", "--expert-model-parallel-size"},
      {"pipeline.chunks", "--num-virtual-stages-per-pipeline-rank"},
      {"workload.microbatch_size", "--micro-batch-size"},
  }};
  std::string megatron;
  for (const auto& [key, flag] : kMegatron)
    if (const auto found = values.find(key); found != values.end())
      megatron += fmt::format(" {} {}", flag, found->second);
  if (const auto found = values.find("workload.recompute"); found != values.end()) {
    if (found->second == "selective") megatron += " --recompute-granularity selective";
    if (found->second == "full")
      megatron +=
          " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
  }
  if (values.contains("workload.parallel.tensor"))
    lines.push_back("torchrun … pretrain_gpt.py" + megatron);
  return lines;
}

}  // namespace pipecast

#include "sim/study/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "sim/read/study_candidate.hpp"

namespace pipecast {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kFar = std::numeric_limits<double>::infinity();  ///< not the nearest of misses
constexpr double kSecondsPerDay = 86400;

constexpr std::array kWorthColumns{
    WorthColumn{"tokens_per_s", &Worth::tokens_per_s},
    WorthColumn{"tokens_per_s_per_device", &Worth::tokens_per_s_per_device},
    WorthColumn{"model_flops_utilization", &Worth::model_flops_utilization},
    WorthColumn{"paid_devices", &Worth::paid_devices},
    WorthColumn{"capital_usd", &Worth::capital_usd},
    WorthColumn{"usd_per_hour", &Worth::usd_per_hour},
    WorthColumn{"usd_per_million_tokens", &Worth::usd_per_million_tokens},
    WorthColumn{"power_w", &Worth::power_w},
    WorthColumn{"days", &Worth::days},
    WorthColumn{"usd", &Worth::usd},
    WorthColumn{"energy_mwh", &Worth::energy_mwh},
};

double known(double value) { return value > 0 ? value : kUnknown; }

/// A limit that binds: by how much, relative, or 0 when it is kept.
double over(double value, double limit) { return value > limit ? value / limit - 1 : 0; }

void miss(Verdict& verdict, Miss kind, double excess, std::string reason) {
  verdict.miss = kind;
  verdict.excess = excess;
  verdict.reason = std::move(reason);
}

bool check_memory(Verdict& verdict, double margin) {
  const Figures& figures = verdict.row.figures;
  if (!(figures.capacity_bytes > 0)) return true;
  const double allowed = figures.capacity_bytes * (1 - margin);
  if (figures.peak_memory_bytes <= allowed) return true;
  const Bytes missing{figures.peak_memory_bytes - allowed};
  miss(verdict, Miss::Memory, over(figures.peak_memory_bytes, allowed),
       fmt::format("needs {} more on rank {}", format(missing), figures.tightest_rank));
  return false;
}

/// Whether there are figures of a run.
bool check_state(Verdict& verdict, double margin) {
  switch (verdict.row.state) {
    case RowState::Evaluated:
      return true;
    case RowState::Refused:
      miss(verdict, Miss::Refused, 0, verdict.row.reason);
      return false;
    case RowState::TooLarge:
      check_memory(verdict, margin);
      return false;
    case RowState::Malformed:
      miss(verdict, Miss::Malformed, 0, verdict.row.reason);
      return false;
    case RowState::Crashed:
      miss(verdict, Miss::Crashed, 0, verdict.row.reason);
      return false;
  }
  return false;
}

/// In the order of the enum: the first limit that is broken is the reason.
void check_limits(Verdict& verdict, const Constraints& limits) {
  const Worth& worth = verdict.worth;
  const auto at_most = [&](Miss kind, double value, const std::optional<double>& limit,
                           std::string_view what) {
    if (!verdict.feasible() || !limit || value <= *limit) return;
    if (std::isnan(value))
      miss(verdict, kind, kFar, fmt::format("{} not known, the limit is {:.6g}", what, *limit));
    else
      miss(verdict, kind, over(value, *limit),
           fmt::format("{} {:.6g}, the limit is {:.6g}", what, value, *limit));
  };
  at_most(Miss::Devices, worth.paid_devices, limits.devices, "devices:");
  at_most(Miss::Power, worth.power_w, limits.power_w, "power in W:");
  if (verdict.feasible() && limits.tokens_per_s && !(worth.tokens_per_s >= *limits.tokens_per_s)) {
    const bool known = !std::isnan(worth.tokens_per_s);
    miss(verdict, Miss::Throughput, known ? *limits.tokens_per_s / worth.tokens_per_s - 1 : kFar,
         fmt::format("tokens/s: {}, at least {:.6g} are asked for",
                     known ? fmt::format("{:.6g}", worth.tokens_per_s) : "not known",
                     *limits.tokens_per_s));
  }
  at_most(Miss::Time, worth.days, limits.days, "days:");
  at_most(Miss::Budget, worth.usd, limits.usd, "USD:");
}

}  // namespace

std::string_view miss_name(Miss miss) {
  switch (miss) {
    case Miss::None:
      return "none";
    case Miss::Refused:
      return "shape";
    case Miss::Malformed:
      return "malformed";
    case Miss::Crashed:
      return "crashed";
    case Miss::Memory:
      return "memory";
    case Miss::Devices:
      return "devices";
    case Miss::Power:
      return "power";
    case Miss::Throughput:
      return "throughput";
    case Miss::Time:
      return "time";
    case Miss::Budget:
      return "budget";
  }
  return "?";
}

std::span<const WorthColumn> worth_columns() { return kWorthColumns; }

FirmQuote firm(const Quote& quote) {
  return firm(quote, [](const Uncertain& range) { return range.middle(); });
}

FirmQuote firm(const Quote& quote, const std::function<double(const Uncertain&)>& draw) {
  const double per_node =
      draw(quote.price_per_node) + draw(quote.network_per_node) + draw(quote.facility_per_node);
  FirmQuote result;
  result.devices = quote.devices;
  result.price_per_device = draw(quote.price_per_device);
  result.capital_per_device =
      result.price_per_device + draw(quote.network_per_device) + per_node / quote.node_devices;
  result.amortisation_hours = quote.amortisation_hours;
  result.rent_per_device_hour = draw(quote.rent_per_device_hour);
  const double device_w = draw(quote.power_per_device);
  const double power_w = device_w + draw(quote.power_per_node) / quote.node_devices;
  const double site = draw(quote.power_usage_effectiveness);
  result.power_per_device_w = power_w * site;
  result.device_power_w = device_w * site;
  result.electricity_per_kwh = draw(quote.electricity_per_kwh);
  result.goodput = draw(quote.goodput);
  for (const AcceleratorQuote& own : quote.accelerators)
    result.accelerators.push_back({own.accelerator, draw(own.price_per_device),
                                   draw(own.rent_per_device_hour),
                                   draw(own.power_per_device) * site});
  return result;
}

namespace {

/// Mean over the devices of a row of what their accelerators cost; `otherwise` for those that the
/// quote does not list. Nothing when it lists this amount for none.
std::optional<double> mean_over(const FirmQuote& quote, std::span<const AcceleratorCount> counts,
                                double FirmAccelerator::*amount, double otherwise) {
  const auto given = [&](const FirmAccelerator& own) { return own.*amount > 0; };
  const auto& own = quote.accelerators;
  if (!std::any_of(own.begin(), own.end(), given)) return std::nullopt;
  double sum = 0;
  double devices = 0;
  for (const AcceleratorCount& count : counts) {
    const auto found = std::find_if(own.begin(), own.end(), [&](const FirmAccelerator& each) {
      return each.accelerator == count.accelerator && given(each);
    });
    sum += count.devices * known(found != own.end() ? (*found).*amount : otherwise);
    devices += count.devices;
  }
  return sum / devices;
}

}  // namespace

FirmQuote blended(FirmQuote quote, const StudyRow& row) {
  const std::vector<AcceleratorCount> counts = accelerator_counts(row.accelerators);
  if (quote.accelerators.empty() || counts.empty()) return quote;
  if (const auto price =
          mean_over(quote, counts, &FirmAccelerator::price, quote.price_per_device)) {
    quote.capital_per_device += *price - quote.price_per_device;
    quote.price_per_device = *price;
  }
  if (const auto rent =
          mean_over(quote, counts, &FirmAccelerator::rent_per_hour, quote.rent_per_device_hour))
    quote.rent_per_device_hour = *rent;
  if (const auto power =
          mean_over(quote, counts, &FirmAccelerator::power_w, quote.device_power_w)) {
    quote.power_per_device_w += *power - quote.device_power_w;
    quote.device_power_w = *power;
  }
  return quote;
}

Worth worth_of(const Figures& figures, const Training& training, const FirmQuote& quote) {
  Worth worth;
  const double tokens = known(figures.tokens_per_step);
  worth.tokens_per_s = tokens / known(figures.step_s) * quote.goodput;
  worth.tokens_per_s_per_device = worth.tokens_per_s / figures.devices;
  worth.model_flops_utilization =
      known(figures.model_flops) / known(figures.step_s) / known(figures.peak_flops);
  worth.paid_devices = quote.devices > 0 ? quote.devices : figures.devices;
  worth.capital_usd = known(worth.paid_devices * quote.capital_per_device);
  worth.power_w = known(worth.paid_devices * quote.power_per_device_w);
  const double bought = worth.paid_devices * quote.capital_per_device / quote.amortisation_hours;
  const double rented = worth.paid_devices * quote.rent_per_device_hour;
  const double power =
      worth.paid_devices * quote.power_per_device_w / 1000 * quote.electricity_per_kwh;
  worth.usd_per_hour = known(bought + rented + power);
  worth.usd_per_million_tokens = worth.usd_per_hour / 3600 / worth.tokens_per_s * 1e6;
  double needed = known(training.tokens);
  if (training.critical_batch > 0)
    needed *=
        (tokens + training.critical_batch) / (training.reference_batch + training.critical_batch);
  worth.days = needed / worth.tokens_per_s / kSecondsPerDay;
  worth.usd = worth.days * 24 * worth.usd_per_hour;
  worth.energy_mwh = worth.days * 24 * worth.power_w / 1e6;
  return worth;
}

Verdict judge(const Study& study, StudyRow row, std::size_t cluster, const FirmQuote& quote) {
  Verdict verdict;
  verdict.row = std::move(row);
  verdict.cluster = cluster;
  const double margin = study.constraints.memory_margin;
  if (!check_state(verdict, margin)) return verdict;
  verdict.worth = worth_of(verdict.row.figures, study.training, blended(quote, verdict.row));
  if (check_memory(verdict, margin)) check_limits(verdict, study.constraints);
  return verdict;
}

Verdict judge(const Study& study, StudyRow row) {
  const std::size_t cluster = choice_of(study, row.candidate).cluster;
  return judge(study, std::move(row), cluster, firm(study.clusters[cluster].quote));
}

double objective_value(const Verdict& verdict, Objective objective) {
  const Worth& worth = verdict.worth;
  switch (objective) {
    case Objective::StepTime:
      return verdict.row.figures.step_s;
    case Objective::TokensPerSecond:
      return worth.tokens_per_s;
    case Objective::TokensPerSecondPerDevice:
      return worth.tokens_per_s_per_device;
    case Objective::UsdPerMillionTokens:
      return worth.usd_per_million_tokens;
    case Objective::Usd:
      return worth.usd;
    case Objective::Days:
      return worth.days;
    case Objective::Energy:
      return worth.energy_mwh;
    case Objective::Devices:
      return worth.paid_devices;
    case Objective::PeakMemory:
      return verdict.row.figures.peak_memory_bytes;
    case Objective::Bubble:
      return verdict.row.figures.bubble_fraction;
  }
  return kUnknown;
}

double objective_key(const Verdict& verdict, Objective objective) {
  const double value = objective_value(verdict, objective);
  if (std::isnan(value)) return std::numeric_limits<double>::infinity();
  const bool more_is_better =
      objective == Objective::TokensPerSecond || objective == Objective::TokensPerSecondPerDevice;
  return more_is_better ? -value : value;
}

bool depends_on_time(Objective objective) {
  return objective != Objective::Devices && objective != Objective::PeakMemory;
}

std::string_view limited_by(const Figures& figures) {
  const double bubble = figures.warmup_idle_s + figures.steady_idle_s + figures.cooldown_idle_s;
  const double transfers = figures.waiting_for_transfer_s;
  const double collectives = figures.waiting_for_collective_s;
  if (bubble + transfers + collectives < 0.1 * figures.step_s) return "compute";
  if (collectives >= bubble && collectives >= transfers) return "collectives";
  return transfers > bubble ? "transfers" : "bubble";
}

}  // namespace pipecast

#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/read/study.hpp"
#include "sim/study/row.hpp"

namespace pipecast {

/// Why a candidate is not among the ranked ones.
enum class Miss : std::uint8_t {
  None,
  Refused,    ///< shape, layout or machine do not fit together
  Malformed,  ///< the scenario is wrong as a text
  Crashed,
  Memory,
  Devices,
  Power,
  Throughput,
  Time,
  Budget,
};
inline constexpr std::size_t kMisses = 10;
std::string_view miss_name(Miss miss);

/// Of one accelerator, in place of a quote's own amounts per device; 0: not given.
struct FirmAccelerator {
  std::string accelerator;
  double price = 0;
  double rent_per_hour = 0;
  double power_w = 0;  ///< at the meter
};

/// A quote with every range replaced by one number.
struct FirmQuote {
  int devices = 0;
  double price_per_device = 0;  ///< the part of capital_per_device that is the device
  double capital_per_device = 0;
  double amortisation_hours = 1;
  double rent_per_device_hour = 0;
  double device_power_w = 0;      ///< the part of power_per_device_w that is the device
  double power_per_device_w = 0;  ///< at the meter
  double electricity_per_kwh = 0;
  double goodput = 1;
  std::vector<FirmAccelerator> accelerators = {};
};
/// The middle of every range;
FirmQuote firm(const Quote& quote);
/// The same with each range replaced by what `draw` says.
FirmQuote firm(const Quote& quote, const std::function<double(const Uncertain&)>& draw);

/// The quote for the devices of a row: its amounts per device are the mean over them, each by its
/// accelerator. An amount that is not given for one of them is NaN.
FirmQuote blended(FirmQuote quote, const StudyRow& row);

/// What a step is worth. Unknown numbers are NaN. US dollars.
struct Worth {
  double tokens_per_s = 0;  ///< goodput taken off
  double tokens_per_s_per_device = 0;
  double model_flops_utilization = 0;
  double paid_devices = 0;
  double capital_usd = 0;
  double usd_per_hour = 0;
  double usd_per_million_tokens = 0;
  double power_w = 0;
  double days = 0;  ///< of the training run
  double usd = 0;   ///< of the training run
  double energy_mwh = 0;
};
struct WorthColumn {
  std::string_view name;
  double Worth::*member;
};
std::span<const WorthColumn> worth_columns();

/// Money, time and energy of a step. tokens per step ÷ step time × goodput; capital ÷ amortisation
/// + rent + electricity per hour; days from the token budget at the step's batch (see Training).
Worth worth_of(const Figures& figures, const Training& training, const FirmQuote& quote);

/// A candidate and what the study makes of it.
struct Verdict {
  StudyRow row;
  std::size_t cluster = 0;
  Worth worth;
  Miss miss = Miss::None;
  double excess = 0;   ///< how far off a limit: relative, for nearest misses
  std::string reason;  ///< one line; empty without a miss

  bool feasible() const { return miss == Miss::None; }
};

Verdict judge(const Study& study, StudyRow row);
Verdict judge(const Study& study, StudyRow row, std::size_t cluster, const FirmQuote& quote);

/// The objective as a number of which less is better; NaN is worse than everything.
double objective_key(const Verdict& verdict, Objective objective);
/// The objective as it is printed.
double objective_value(const Verdict& verdict, Objective objective);
/// Whether SimGrid may change it other than through feasibility.
bool depends_on_time(Objective objective);

/// What holds a candidate back most: `bubble`, `transfers`, `collectives`, or `compute` where all
/// of them together take less than a tenth of the step.
std::string_view limited_by(const Figures& figures);

}  // namespace pipecast

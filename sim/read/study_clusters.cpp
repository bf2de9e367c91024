#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "sim/read/study_parts.hpp"

namespace pipecast {
namespace {

struct QuoteField {
  AmountRule rule;
  Uncertain Quote::*member;
};

constexpr double kMostMoney = 1e12;

const std::array<QuoteField, 11> kQuoteFields{{
    {{"price_per_device", Dimension::Money, 0, kMostMoney, "purchase of one accelerator"},
     &Quote::price_per_device},
    {{"price_per_node", Dimension::Money, 0, kMostMoney, "purchase of one node"},
     &Quote::price_per_node},
    {{"network_per_device", Dimension::Money, 0, kMostMoney, "switches, cables, optics"},
     &Quote::network_per_device},
    {{"network_per_node", Dimension::Money, 0, kMostMoney, "switches, cables, optics"},
     &Quote::network_per_node},
    {{"facility_per_node", Dimension::Money, 0, kMostMoney, "building and staff, whole life"},
     &Quote::facility_per_node},
    {{"rent_per_device_hour", Dimension::Money, 0, 1e6, "rent instead of a purchase"},
     &Quote::rent_per_device_hour},
    {{"power_per_device", Dimension::Power, 0, 1e6, "at the socket, under load"},
     &Quote::power_per_device},
    {{"power_per_node", Dimension::Power, 0, 1e8, "at the socket, under load"},
     &Quote::power_per_node},
    {{"pue", Dimension::None, 1, 5, "power of the site ÷ power of the machines"},
     &Quote::power_usage_effectiveness},
    {{"electricity_per_kwh", Dimension::Money, 0, 100, "price of a kilowatt-hour"},
     &Quote::electricity_per_kwh},
    {{"goodput", Dimension::None, 0.01, 1, "share of the time that is useful training"},
     &Quote::goodput},
}};

struct AcceleratorField {
  AmountRule rule;
  Uncertain AcceleratorQuote::*member;
};
const std::array<AcceleratorField, 3> kAcceleratorFields{{
    {{"price_per_device", Dimension::Money, 0, kMostMoney, "purchase of one accelerator"},
     &AcceleratorQuote::price_per_device},
    {{"rent_per_device_hour", Dimension::Money, 0, 1e6, "rent instead of a purchase"},
     &AcceleratorQuote::rent_per_device_hour},
    {{"power_per_device", Dimension::Power, 0, 1e6, "at the socket, under load"},
     &AcceleratorQuote::power_per_device},
}};

/// `accelerators: {ID: {price_per_device: …}, …}`.
std::vector<AcceleratorQuote> read_accelerator_quotes(const YamlCursor& quotes) {
  std::vector<AcceleratorQuote> result;
  if (!quotes.is_map()) {
    quotes.fault("accelerators must be a map from accelerators to what one costs",
                 "such as {a100_sxm4_80gb: {rent_per_device_hour: 1.5 USD}}");
    return result;
  }
  for (const YamlCursor& given : quotes.children()) {
    AcceleratorQuote quote;
    quote.accelerator = std::string(given.key());
    if (!given.expect_map({"price_per_device", "rent_per_device_hour", "power_per_device"}))
      continue;
    for (const AcceleratorField& field : kAcceleratorFields)
      if (const auto amount = given.find(field.rule.name))
        if (const auto value = read_uncertain(*amount, field.rule)) quote.*field.member = *value;
    result.push_back(std::move(quote));
  }
  return result;
}

std::vector<std::string> quote_keys() {
  std::vector<std::string> keys{"devices", "node_devices", "amortisation", "source",
                                "accelerators"};
  for (const QuoteField& field : kQuoteFields) keys.emplace_back(field.rule.name);
  return keys;
}

constexpr std::int64_t kMostDevices = std::int64_t{1} << 24;

QuotedCluster read_cluster(const YamlCursor& given, std::span<const ScheduleInfo> schedules,
                           std::span<const Axis> common) {
  QuotedCluster cluster;
  if (!given.expect_map({"name", "platform", "set", "axes", "layouts", "quote"})) return cluster;
  if (const auto name = given.require("name", "a name for the tables"))
    cluster.name = read_line(*name);
  if (const auto platform = given.find("platform"))
    cluster.settings.emplace_back("platform", platform->node());
  if (const auto settings = given.find("set"))
    for (auto& setting : read_settings(*settings)) cluster.settings.push_back(std::move(setting));
  if (const auto axes = given.find("axes")) cluster.axes = read_axes(*axes, common);
  if (const auto layouts = given.find("layouts")) {
    cluster.layouts = read_layouts(*layouts, schedules);
    cluster.layouts_mark = layouts->node().mark;
  }
  if (const auto quote = given.find("quote")) cluster.quote = read_quote(*quote);
  return cluster;
}

}  // namespace

Quote read_quote(const YamlCursor& quote) {
  Quote result;
  if (!quote.expect_map(quote_keys())) return result;
  if (const auto given = quote.find("devices"))
    result.devices = static_cast<int>(given->integer(1, kMostDevices).value_or(0));
  if (const auto given = quote.find("node_devices"))
    result.node_devices = static_cast<int>(given->integer(1, 4096).value_or(8));
  if (const auto given = quote.find("amortisation"))
    result.amortisation_hours = read_hours(*given).value_or(result.amortisation_hours);
  if (const auto given = quote.find("source")) result.source = read_line(*given);
  for (const QuoteField& field : kQuoteFields)
    if (const auto given = quote.find(field.rule.name))
      if (const auto value = read_uncertain(*given, field.rule)) result.*field.member = *value;
  if (const auto given = quote.find("accelerators"))
    result.accelerators = read_accelerator_quotes(*given);
  const auto any = [&](Uncertain AcceleratorQuote::*amount) {
    return std::any_of(result.accelerators.begin(), result.accelerators.end(),
                       [&](const AcceleratorQuote& own) { return (own.*amount).high > 0; });
  };
  const bool bought = result.price_per_device.high > 0 || result.price_per_node.high > 0 ||
                      any(&AcceleratorQuote::price_per_device);
  if (bought &&
      (result.rent_per_device_hour.high > 0 || any(&AcceleratorQuote::rent_per_device_hour)))
    quote.fault_at_key(fmt::format("{} gives a price and a rent", quote.path()),
                       "offer the same machine twice, bought and rented, to compare them");
  const bool powered = result.power_per_device.high > 0 || result.power_per_node.high > 0 ||
                       any(&AcceleratorQuote::power_per_device);
  for (const std::string_view key : {"electricity_per_kwh", "pue"})
    if (const auto given = quote.find(key); given && !powered)
      given->fault_at_key(fmt::format("{} counts for nothing without a power", given->path()),
                          "give power_per_device or power_per_node too");
  return result;
}

std::vector<QuotedCluster> read_clusters(const YamlCursor& clusters,
                                         std::span<const ScheduleInfo> schedules,
                                         std::span<const Axis> axes) {
  std::vector<QuotedCluster> result;
  if (!clusters.is_list() || clusters.size() == 0) {
    clusters.fault(clusters.is_list() ? "clusters has no entries" : "clusters must be a list",
                   "- {name: …, platform: {…}, quote: {…}}");
    return result;
  }
  if (clusters.size() > kMaxClusters) {
    clusters.fault(
        fmt::format("{} clusters; at most {} are allowed", clusters.size(), kMaxClusters));
    return result;
  }
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    result.push_back(read_cluster(clusters.item(i), schedules, axes));
    if (const auto [earlier, fresh] = seen.try_emplace(result.back().name, i); !fresh)
      clusters.item(i).fault(fmt::format("cluster {} is named '{}' like cluster {}", i,
                                         shown(result.back().name), earlier->second));
  }
  return result;
}

}  // namespace pipecast

#include "sim/read/scenario_imperfections.hpp"

#include <array>
#include <set>

#include "sim/base/fields.hpp"
#include "sim/model/program.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kMaxEntries = 100'000;

const std::array<Field<SlowDevice>, 2> kSlowFields{
    {{"device", &SlowDevice::device, "of the platform", 0, 1 << 20, {}},
     {"factor", &SlowDevice::factor, "times as long as on an ordinary device", 0.01, 1000, {}}}};
const std::array<Field<SlowRank>, 2> kRankFields{
    {{"rank", &SlowRank::rank, "of the pipeline, on every replica", 0, kMaxRanks - 1, {}},
     {"factor", &SlowRank::factor, "times as long as on an ordinary rank", 0.01, 1000, {}}}};
const std::array<Field<DegradedLink>, 2> kLinkFields{
    {{"link", &DegradedLink::link, "its name, as platform show prints it", 0, 0, {}},
     {"factor", &DegradedLink::factor, "of its bandwidth that is left; 0: broken", 0, 1, {}}}};

struct JitterFields {
  double sigma = 0;
  int samples = 100;
  double seed = 1;
};
const std::array<Field<JitterFields>, 3> kJitterFields{
    {{"sigma", &JitterFields::sigma, "of the logarithm of the factor; the median is 1", 0, 3, {}},
     {"samples", &JitterFields::samples, "steps simulated", 1, 100'000, {}},
     {"seed", &JitterFields::seed, "of the random numbers", 0, 1e15, {}}}};

template <class Entry, class Table>
std::vector<Entry> read_list(const YamlCursor& block, std::string_view key, const Table& table) {
  std::vector<Entry> entries;
  const auto list = block.find(key);
  if (!list) return entries;
  if (!list->is_list() || list->size() > kMaxEntries) {
    list->fault("a list of at most 100000 entries is needed",
                "such as [{" + std::string(table[0].name) + ": …, factor: 0.5}]");
    return entries;
  }
  const auto fields = describe<Entry>(table);
  for (std::size_t i = 0; i < list->size(); ++i) {
    const YamlCursor item = list->item(i);
    const bool complete = item.is_map() &&
                          item.require(table[0].name, std::string(table[0].help)) &&
                          item.require("factor", std::string(table[1].help));
    if (!item.is_map()) item.expect_map({table[0].name, "factor"});
    if (complete) entries.push_back(pipecast::bind<Entry>(table, item.fields(fields)));
  }
  return entries;
}

Jitter read_jitter(const YamlCursor& block) {
  Jitter jitter;
  const auto fields = describe<JitterFields>(kJitterFields);
  const auto read = pipecast::bind<JitterFields>(kJitterFields, block.fields(fields, {"factors"}));
  jitter.sigma = read.sigma;
  jitter.samples = read.samples;
  jitter.seed = static_cast<std::int64_t>(read.seed);
  if (!block.is_map()) return jitter;
  const auto factors = block.find("factors");
  if (!factors) {
    if (!block.has("sigma")) block.fault("jitter needs sigma or factors", "such as {sigma: 0.05}");
    return jitter;
  }
  if (block.has("sigma")) factors->fault("jitter takes sigma or factors, not both");
  if (!factors->is_list() || factors->size() == 0 || factors->size() > kMaxEntries) {
    factors->fault("a list of 1 to 100000 factors is needed", "measured ÷ ordinary seconds");
    return jitter;
  }
  const FieldInfo one{"factor", FieldKind::Number, 1e-3, 1e3, "1", "measured ÷ ordinary", {}};
  for (std::size_t i = 0; i < factors->size(); ++i)
    if (const auto value = factors->item(i).field(one))
      jitter.factors.push_back(std::get<double>(*value));
  return jitter;
}

}  // namespace

Imperfections read_imperfections(const YamlCursor& block) {
  Imperfections result;
  if (!block.expect_map({"slow_devices", "slow_ranks", "degraded_links", "jitter"})) return result;
  result.slow_devices = read_list<SlowDevice>(block, "slow_devices", kSlowFields);
  result.slow_ranks = read_list<SlowRank>(block, "slow_ranks", kRankFields);
  result.degraded_links = read_list<DegradedLink>(block, "degraded_links", kLinkFields);
  if (const auto jitter = block.find("jitter")) result.jitter = read_jitter(*jitter);
  return result;
}

}  // namespace pipecast

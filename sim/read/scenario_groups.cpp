#include "sim/read/scenario_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pipecast {
namespace {

/// Beyond it is a slip of the pen; what runs beside a whole pass may take any time of it.
constexpr double kLongest_s = 1e6;
constexpr double kLargest_bytes = 1ULL << 60;

constexpr std::array kGroupCollectives{Collective::AllGather, Collective::ReduceScatter,
                                       Collective::AllReduce, Collective::AllToAll};

std::vector<std::string> group_words() {
  std::vector<std::string> words;
  for (const ParallelDimension group : kGroupDimensions) words.emplace_back(dimension_name(group));
  return words;
}

std::vector<std::string> collective_words() {
  std::vector<std::string> words;
  for (const Collective kind : kGroupCollectives) words.emplace_back(collective_name(kind));
  return words;
}

const std::array<Field<PassExchange>, 4> kPassFields{{
    {"bytes", &PassExchange::bytes, "of all collectives of the pass", 0, kLargest_bytes, {}},
    {"seconds",
     &PassExchange::alone,
     "when nothing else uses the links; 0 s: as long as the bytes take there",
     0,
     kLongest_s,
     {}},
    {"exposed",
     &PassExchange::exposed,
     "of seconds: what lengthens the pass; left out: what behind leaves",
     0,
     kLongest_s,
     {}},
    {"behind",
     &PassExchange::behind,
     "computation that it may run beside; left out: none, or with overlap all",
     0,
     kLongest_s,
     {}},
}};

/// Bytes, or a map of bytes and seconds.
PassExchange read_pass(const YamlCursor& given, bool overlap) {
  const auto fields = describe<PassExchange>(kPassFields);
  PassExchange pass;
  if (given.is_map()) {
    pass = pipecast::bind<PassExchange>(kPassFields, given.fields(fields));
  } else if (const auto bytes = given.field(fields[0])) {
    pass.bytes = Bytes{std::get<double>(*bytes)};
  }
  const auto has = [&](std::string_view key) { return given.is_map() && given.has(key); };
  if (overlap && !has("behind")) pass.behind = Seconds{kLongest_s};
  if (!has("exposed")) pass.exposed = Seconds{std::max(0.0, (pass.alone - pass.behind).value)};
  if (pass.alone.value > 0 && pass.exposed > pass.alone)
    given.find("exposed")->fault(fmt::format("exposed is {}, the whole exchange takes {}",
                                             format(pass.exposed), format(pass.alone)));
  if (pass.alone.value == 0 && has("exposed"))
    given.find("exposed")->fault("exposed is a part of seconds, which are not given");
  return pass;
}

void read_passes(const YamlCursor& item, bool overlap, GroupExchange& exchange) {
  const auto pass = [&](std::string_view key, PassExchange& to) {
    if (const auto given = item.find(key)) to = read_pass(*given, overlap);
  };
  pass("forward", exchange.forward);
  pass("backward", exchange.backward_input);
  if (item.has("backward") && (item.has("backward_input") || item.has("backward_weight")))
    item.find("backward")
        ->fault_at_key("backward is the whole, it cannot stand beside its halves",
                       "give backward, or backward_input and backward_weight");
  pass("backward_input", exchange.backward_input);
  pass("backward_weight", exchange.backward_weight);
}

bool read_flag(const YamlCursor& item, std::string_view key) {
  struct Flag {
    bool on = false;
  };
  const auto given = item.find(key);
  if (!given) return false;
  const std::array<Field<Flag>, 1> table{{{key, &Flag::on, "beside the computation", 0, 1, {}}}};
  const auto value = given->field(describe<Flag>(table)[0]);
  return value && std::get<bool>(*value);
}

/// Nothing when it is wrong.
std::optional<GroupExchange> read_kind(const YamlCursor& item, const ParallelLayout& layout) {
  GroupExchange exchange;
  const auto group = item.require("group", "tensor, context or expert");
  const auto collective = item.require("collective", "such as all-to-all");
  const auto group_word = group ? group->choice(group_words()) : std::nullopt;
  const auto kind_word = collective ? collective->choice(collective_words()) : std::nullopt;
  if (!group_word || !kind_word) return std::nullopt;
  for (const ParallelDimension dimension : kGroupDimensions)
    if (*group_word == dimension_name(dimension)) exchange.group = dimension;
  for (const Collective kind : kGroupCollectives)
    if (*kind_word == collective_name(kind)) exchange.collective = kind;
  if (degree(layout, exchange.group) < 2) {
    group->fault(fmt::format("there is no {} group: parallel.{} is 1", *group_word, *group_word),
                 fmt::format("set parallel.{}, or leave the exchange out", *group_word));
    return std::nullopt;
  }
  return exchange;
}

void read_exchange(const YamlCursor& item, const KnownShape& shape, const ParallelLayout& layout,
                   Workload& workload) {
  if (!item.expect_map({"group", "collective", "stage", "overlap", "forward", "backward",
                        "backward_input", "backward_weight"}))
    return;
  auto exchange = read_kind(item, layout);
  if (!exchange) return;
  read_passes(item, read_flag(item, "overlap"), *exchange);
  const auto given = item.find("stage");
  if (!given) {
    for (std::vector<GroupExchange>& stage : workload.inside) stage.push_back(*exchange);
    return;
  }
  if (!shape.stages()) return;
  if (const auto stage = given->integer(0, *shape.stages() - 1);
      stage && static_cast<std::size_t>(*stage) < workload.inside.size())
    workload.inside[static_cast<std::size_t>(*stage)].push_back(*exchange);
}

/// The block inside `parallel`, in words.
struct TrafficBlock {
  std::string as = "automatic";
  int pieces = 1;
};

std::array<Field<TrafficBlock>, 2> traffic_fields() {
  return {{
      {"as",
       &TrafficBlock::as,
       "flows on the links, or seconds of the operation only; automatic: flows where those can "
       "change something",
       0,
       0,
       {"automatic", "flows", "closed_form"}},
      {"pieces",
       &TrafficBlock::pieces,
       "times that an operation computes and exchanges by turns",
       1,
       kMaxGroupPieces,
       {}},
  }};
}

}  // namespace

void read_group_exchanges(const YamlCursor& block, const KnownShape& shape,
                          const ParallelLayout& layout, Workload& workload) {
  if (!block.is_map()) return;
  const auto given = block.find(kGroupExchangeKey);
  if (!given) return;
  if (!given->is_list()) {
    given->fault(fmt::format("{} must be a list", given->path()),
                 "[{group: expert, collective: all-to-all, forward: 64 MiB, backward: 64 MiB}]");
    return;
  }
  workload.inside.resize(workload.bytes.size());
  for (std::size_t i = 0; i < given->size(); ++i)
    read_exchange(given->item(i), shape, layout, workload);
}

GroupTraffic read_group_traffic(const YamlCursor& parallel) {
  GroupTraffic traffic;
  const auto given = parallel.find(kGroupTrafficKey);
  if (!given) return traffic;
  const auto table = traffic_fields();
  const auto fields = describe<TrafficBlock>(table);
  const auto block = pipecast::bind<TrafficBlock>(table, given->fields(fields));
  traffic.pieces = block.pieces;
  if (block.as == "flows") traffic.as = GroupTraffic::As::Flows;
  if (block.as == "closed_form") traffic.as = GroupTraffic::As::ClosedForm;
  return traffic;
}

}  // namespace pipecast

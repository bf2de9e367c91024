#include "sim/read/scenario_parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/read/scenario_groups.hpp"

namespace pipecast {
namespace {

constexpr int kMostDegree = 65536;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

const std::array<Field<ParallelLayout>, 7> kDegreeFields{{
    {"tensor", &ParallelLayout::tensor, "devices that share every layer", 1, kMostDegree, {}},
    {"sequence_parallel",
     &ParallelLayout::sequence_parallel,
     "norms and dropouts cut along the sequence over the tensor group",
     0,
     1,
     {}},
    {"context", &ParallelLayout::context, "devices that share a sequence", 1, kMostDegree, {}},
    {"data", &ParallelLayout::data, "replicas of the model", 1, kMostDegree, {}},
    {"expert", &ParallelLayout::expert, "devices that share the experts", 1, kMostDegree, {}},
    {"expert_tensor",
     &ParallelLayout::expert_tensor,
     "devices that share an expert",
     1,
     kMostDegree,
     {}},
    {"zero",
     &ParallelLayout::zero,
     "1 shards the optimizer state over the replicas, 2 gradients too, 3 parameters too",
     0,
     3,
     {}},
}};

/// The blocks inside, in words.
struct Exchange {
  bool overlap = true;
  Bytes bucket;
  std::string every = "automatic";
  std::string algorithm = "automatic";
};

std::vector<std::string> algorithm_words() {
  std::vector<std::string> words;
  for (const CollectiveAlgorithm algorithm : kCollectiveAlgorithms)
    words.emplace_back(algorithm_name(algorithm));
  return words;
}

CollectiveAlgorithm algorithm_of(std::string_view word) {
  for (const CollectiveAlgorithm algorithm : kCollectiveAlgorithms)
    if (algorithm_name(algorithm) == word) return algorithm;
  return CollectiveAlgorithm::Automatic;
}

std::array<Field<Exchange>, 4> reduction_fields() {
  return {{
      {"overlap", &Exchange::overlap, "while the pipeline still computes", 0, 1, {}},
      {"algorithm", &Exchange::algorithm, "how the bytes travel", 0, 0, algorithm_words()},
      {"bucket",
       &Exchange::bucket,
       "largest piece that is reduced at once; 0 B: a whole chunk",
       0,
       kNoLimit,
       {}},
      {"every",
       &Exchange::every,
       "once per step or after each backward; automatic: after each backward from zero 2 on",
       0,
       0,
       {"automatic", "step", "microbatch"}},
  }};
}

std::array<Field<Exchange>, 3> gather_fields() {
  return {{
      {"overlap", &Exchange::overlap, "while the operation before still computes", 0, 1, {}},
      {"algorithm", &Exchange::algorithm, "how the bytes travel", 0, 0, algorithm_words()},
      {"every",
       &Exchange::every,
       "once per step, and kept; or before each forward and backward (FSDP); automatic: before "
       "each from zero 3 on",
       0,
       0,
       {"automatic", "step", "microbatch"}},
  }};
}

GradientReduction read_reduction(const YamlCursor& parallel, int zero) {
  GradientReduction reduction;
  reduction.every_microbatch = zero >= 2;
  const auto given = parallel.find("gradient_reduction");
  if (!given) return reduction;
  const auto table = reduction_fields();
  const auto fields = describe<Exchange>(table);
  const auto block = pipecast::bind<Exchange>(table, given->fields(fields));
  reduction.overlap = block.overlap;
  reduction.bucket = block.bucket;
  reduction.algorithm = algorithm_of(block.algorithm);
  if (block.every != "automatic") reduction.every_microbatch = block.every == "microbatch";
  return reduction;
}

ParameterGather read_gather(const YamlCursor& parallel, int zero) {
  ParameterGather gather;
  gather.every_microbatch = zero >= 3;
  const auto given = parallel.find("parameter_gather");
  if (!given) return gather;
  const auto table = gather_fields();
  const auto fields = describe<Exchange>(table);
  const auto block = pipecast::bind<Exchange>(table, given->fields(fields));
  gather.overlap = block.overlap;
  gather.algorithm = algorithm_of(block.algorithm);
  if (block.every != "automatic") gather.every_microbatch = block.every == "microbatch";
  if (gather.every_microbatch && zero < 3)
    given->find("every")->fault(
        "parameters are whole on every device after a step's gather: every use gathers them with "
        "zero 3 only",
        "set zero: 3, or every: step");
  return gather;
}

std::optional<ParallelDimension> dimension_of(std::string_view word) {
  for (const ParallelDimension dimension : kMegatronOrder)
    if (word == dimension_name(dimension) || word == dimension_abbreviation(dimension))
      return dimension;
  return std::nullopt;
}

/// The words of `tp-cp-ep-dp-pp` or of a list.
std::vector<std::string> order_words(const YamlCursor& given) {
  std::vector<std::string> words;
  if (given.is_list()) {
    for (std::size_t i = 0; i < given.size(); ++i)
      words.push_back(given.item(i).text().value_or(""));
    return words;
  }
  const std::string text = given.text().value_or("");
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('-', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

DimensionOrder read_order(const YamlCursor& given, const ParallelLayout& layout) {
  const std::vector<std::string> known{"tp",     "cp",      "ep",     "dp",   "pp",
                                       "tensor", "context", "expert", "data", "pipeline"};
  std::vector<ParallelDimension> order;
  for (const std::string& word : order_words(given)) {
    const auto dimension = dimension_of(word);
    if (!dimension) {
      given.fault(fmt::format("unknown dimension '{}' in {}", shown(word), given.path()),
                  suggest(word, known));
      return kMegatronOrder;
    }
    if (std::count(order.begin(), order.end(), *dimension) > 0) {
      given.fault(
          fmt::format("{} names the dimension {} twice", given.path(), dimension_name(*dimension)));
      return kMegatronOrder;
    }
    order.push_back(*dimension);
  }
  for (const ParallelDimension dimension : kMegatronOrder) {
    if (std::count(order.begin(), order.end(), dimension) > 0) continue;
    if (degree(layout, dimension) > 1)
      given.fault(fmt::format("{} leaves out the dimension {}, which is {}", given.path(),
                              dimension_name(dimension), degree(layout, dimension)),
                  "from the closest devices to the farthest, such as tp-cp-ep-dp-pp");
    order.push_back(dimension);
  }
  DimensionOrder result = kMegatronOrder;
  std::copy(order.begin(), order.end(), result.begin());
  return result;
}

Replicas read_replicas(const YamlCursor& parallel) {
  const std::array<std::string, 2> words{"symmetric", "all"};
  const auto given = parallel.find("replicas");
  return given && given->choice(words) == "all" ? Replicas::All : Replicas::Symmetric;
}

std::optional<YamlCursor> find_block(const YamlCursor& root,
                                     const std::optional<YamlCursor>& workload) {
  auto at_top = root.find("parallel");
  auto inside = workload && workload->is_map() ? workload->find("parallel") : std::nullopt;
  if (at_top && inside)
    inside->fault_at_key("parallel is given twice, also at the top of the scenario");
  return at_top ? at_top : inside;
}

/// One value, or one per stage.
template <class Unit, std::size_t size>
void read_per_stage(const YamlCursor& block, const std::array<Field<StageSync>, size>& table,
                    std::size_t row, const KnownShape& shape, Unit StageSync::*member,
                    Workload& workload) {
  const auto info = describe<StageSync>(table)[row];
  const auto given = block.find(info.name);
  if (!given) return;
  const auto put = [&](std::size_t stage, const YamlCursor& value) {
    const auto number = value.field(info);
    if (number && stage < workload.sync.size())
      workload.sync[stage].*member = Unit{std::get<double>(*number)};
    return number;
  };
  if (!given->is_list()) {
    const auto number = put(0, *given);
    if (!number) return;
    for (StageSync& sync : workload.sync) sync.*member = Unit{std::get<double>(*number)};
    return;
  }
  if (shape.stages() && given->size() != static_cast<std::size_t>(*shape.stages()))
    given->fault(fmt::format("{} has {} entries for {} stages", given->path(), given->size(),
                             *shape.stages()));
  for (std::size_t stage = 0; stage < given->size(); ++stage) put(stage, given->item(stage));
}

const std::array<Field<StageSync>, 4> kSyncFields{{
    {kSyncKeys[0],
     &StageSync::gradients,
     "gradient of a stage that is added up over the replicas; the same as gradients unless given",
     0,
     kNoLimit,
     {}},
    {kSyncKeys[1],
     &StageSync::expert_gradients,
     "the part of gradient that belongs to experts",
     0,
     kNoLimit,
     {}},
    {kSyncKeys[2],
     &StageSync::expert_parameters,
     "the part of parameters that belongs to experts",
     0,
     kNoLimit,
     {}},
    {kSyncKeys[3], &StageSync::optimizer, "update of a stage", 0, 1e9, {}},
}};

void check_parts(const YamlCursor& block, const Workload& workload) {
  for (std::size_t stage = 0; stage < workload.sync.size(); ++stage) {
    const StageSync& sync = workload.sync[stage];
    const bool gradients = sync.expert_gradients > sync.gradients;
    if (!gradients && sync.expert_parameters <= sync.parameters) continue;
    const auto given = block.find(kSyncKeys[gradients ? 1 : 2]);
    if (given)
      given->fault(fmt::format("stage {}: the experts' part is {}, the whole only {}", stage,
                               format(gradients ? sync.expert_gradients : sync.expert_parameters),
                               format(gradients ? sync.gradients : sync.parameters)));
    return;
  }
}

}  // namespace

ParallelLayout read_parallel(const YamlCursor& root, const std::optional<YamlCursor>& workload,
                             const KnownShape& shape, FaultList& faults) {
  ParallelLayout layout;
  const auto parallel = find_block(root, workload);
  if (parallel) {
    const auto fields = describe<ParallelLayout>(kDegreeFields);
    layout = pipecast::bind<ParallelLayout>(
        kDegreeFields, parallel->fields(fields, {"order", "replicas", "gradient_reduction",
                                                 "parameter_gather", kGroupTrafficKey}));
  }
  layout.pipeline = shape.ranks.value_or(1);
  layout.chunks = shape.chunks.value_or(1);
  if (!parallel || !parallel->is_map()) return layout;
  layout.gradient_reduction = read_reduction(*parallel, layout.zero);
  layout.parameter_gather = read_gather(*parallel, layout.zero);
  layout.group_traffic = read_group_traffic(*parallel);
  layout.replicas = read_replicas(*parallel);
  if (const auto order = parallel->find("order")) layout.order = read_order(*order, layout);
  faults.add(located(check(layout), parallel->key_where()));
  return layout;
}

void read_stage_sync(const YamlCursor& block, const KnownShape& shape, Workload& workload) {
  workload.sync.resize(workload.bytes.size());
  for (std::size_t stage = 0; stage < workload.sync.size(); ++stage) {
    workload.sync[stage].gradients = workload.bytes[stage].gradients;
    workload.sync[stage].parameters = workload.bytes[stage].parameters;
  }
  read_per_stage(block, kSyncFields, 0, shape, &StageSync::gradients, workload);
  read_per_stage(block, kSyncFields, 1, shape, &StageSync::expert_gradients, workload);
  read_per_stage(block, kSyncFields, 2, shape, &StageSync::expert_parameters, workload);
  read_per_stage(block, kSyncFields, 3, shape, &StageSync::optimizer, workload);
  check_parts(block, workload);
  const auto nothing = [](const StageSync& sync) { return sync == StageSync{}; };
  if (std::all_of(workload.sync.begin(), workload.sync.end(), nothing)) workload.sync.clear();
}

}  // namespace pipecast

#include "sim/read/serving_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <random>

#include "sim/base/fields.hpp"
#include "sim/read/accelerator.hpp"
#include "sim/read/hf_config.hpp"

namespace pipecast {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr int kMaxTokens = 1 << 24;

const std::array<Field<ServingDevice>, 9> kDeviceFields{{
    {"compute", &ServingDevice::compute, "achieved on large matrices", 1, kNoLimit, {}},
    {"memory_bandwidth", &ServingDevice::memory_bandwidth, "achieved", 1, kNoLimit, {}},
    {"memory", &ServingDevice::memory, "what the device reports", 0, kNoLimit, {}},
    {"tensor_bandwidth", &ServingDevice::tensor_bandwidth, "of an all-reduce", 0, kNoLimit, {}},
    {"tensor_latency", &ServingDevice::tensor_latency, "of an all-reduce", 0, kNoLimit, {}},
    {"stage_bandwidth", &ServingDevice::stage_bandwidth, "between stages", 0, kNoLimit, {}},
    {"stage_latency", &ServingDevice::stage_latency, "between stages", 0, kNoLimit, {}},
    {"stage_overhead", &ServingDevice::stage_overhead, "launches of a pass", 0, kNoLimit, {}},
    {"workspace", &ServingDevice::workspace, "kept free", 0, kNoLimit, {}},
}};

int integer(const YamlCursor& map, std::string_view key, int fallback, int minimum, int maximum) {
  if (!map.has(key)) return fallback;
  const auto given = map.find(key);
  return given ? static_cast<int>(given->integer(minimum, maximum).value_or(fallback)) : fallback;
}

double number(const YamlCursor& map, std::string_view key, double fallback, double minimum,
              double maximum) {
  if (!map.has(key)) return fallback;
  const auto given = map.find(key);
  if (!given) return fallback;
  const FieldInfo field{std::string(key), FieldKind::Number, minimum, maximum, "", "", {}};
  const auto value = given->field(field);
  return value ? std::get<double>(*value) : fallback;
}

/// Efficiencies that nobody gave and that something depends on.
void warn_of_defaults(const YamlCursor& map, ServingScenario& scenario) {
  if (!map.has("compute_efficiency") && !map.has("compute"))
    scenario.warnings.push_back("compute_efficiency is not given: 0.6 of the peak assumed");
  if (!map.has("memory_efficiency") && !map.has("memory_bandwidth"))
    scenario.warnings.push_back("memory_efficiency is not given: 0.8 of the bandwidth assumed");
}

/// What is not verified of the model and what a forecast with it leaves out.
void warn_of_model(ServingScenario& scenario) {
  const ModelShape& shape = scenario.model;
  for (const std::string& key : shape.unverified)
    scenario.warnings.push_back(fmt::format("{}: {} is not verified", shape.origin, key));
  for (const std::string& warning : left_out(shape))
    scenario.warnings.push_back(fmt::format("{}: {}", shape.origin, warning));
}

/// The catalogue's peaks times what serving reaches of them.
void read_catalogue(const YamlCursor& map, std::span<const std::string> folders,
                    ServingScenario& scenario) {
  const auto id = map.find("accelerator");
  const auto word = id ? id->text() : std::nullopt;
  if (!word) return;
  const auto accelerator = find_accelerator(*word, folders);
  if (!accelerator) {
    for (const Diagnostic& fault : accelerator.error()) id->fault(fault.message, fault.hint);
    return;
  }
  scenario.accelerator = *word;
  warn_of_defaults(map, scenario);
  const double compute = number(map, "compute_efficiency", 0.6, 0.01, 1);
  const double memory = number(map, "memory_efficiency", 0.8, 0.01, 1);
  const auto peak = known_rate(*accelerator, Property::PeakBf16);
  const auto bandwidth = known_bandwidth(*accelerator, Property::MemoryBandwidth);
  auto bytes = known_bytes(*accelerator, Property::MemoryReported);
  if (!bytes) {
    bytes = known_bytes(*accelerator, Property::MemoryNominal);
    if (bytes && !map.has("memory"))
      scenario.warnings.push_back(*word +
                                  ": the nominal memory is used, a device reports less; memory: of "
                                  "the device replaces it");
  }
  if (!peak) id->fault(peak.error().front().message, "give compute");
  if (!bandwidth) id->fault(bandwidth.error().front().message, "give memory_bandwidth");
  if (peak) scenario.device.compute = *peak * compute;
  if (bandwidth) scenario.device.memory_bandwidth = *bandwidth * memory;
  if (bytes) scenario.device.memory = *bytes;
}

void read_device(const YamlCursor& map, std::span<const std::string> folders,
                 ServingScenario& scenario) {
  std::vector<std::string> names{"accelerator", "compute_efficiency", "memory_efficiency"};
  for (const auto& field : kDeviceFields) names.emplace_back(field.name);
  if (!map.expect_map(std::span<const std::string>(names))) return;
  const std::vector<FieldInfo> infos =
      describe<ServingDevice>(std::span<const Field<ServingDevice>>(kDeviceFields));
  if (map.has("accelerator")) read_catalogue(map, folders, scenario);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const bool needed = i < 2 && !map.has("accelerator");
    if (!map.has(infos[i].name)) {
      if (needed) map.require(infos[i].name, "or name an accelerator");
      continue;
    }
    const auto given = map.find(infos[i].name);
    const auto value = given ? given->field(infos[i]) : std::nullopt;
    if (!value) continue;
    std::visit([&](auto member) { detail::assign(scenario.device, member, *value); },
               kDeviceFields[i].member);
  }
}

void read_batching(const YamlCursor& map, ServingScenario& scenario) {
  if (!map.expect_map({"kind", "groups", "batch", "prefill_tokens"})) return;
  const std::vector<std::string> kinds{"continuous", "static"};
  if (const auto kind = map.find("kind"))
    if (const auto word = kind->choice(kinds)) scenario.continuous = *word == kinds[0];
  scenario.groups = integer(map, "groups", scenario.groups, 1, 4096);
  scenario.batch = integer(map, "batch", 1, 1, 1 << 20);
  scenario.prefill_tokens = integer(map, "prefill_tokens", 8192, 1, kMaxTokens);
}

/// A count, or [least, most].
struct TokenRange {
  int least = 1;
  int most = 1;
};

TokenRange read_range(const YamlCursor& map, std::string_view key) {
  const auto given = map.require(key);
  if (!given) return {};
  if (!given->is_list()) {
    const auto value = static_cast<int>(given->integer(1, kMaxTokens).value_or(1));
    return {value, value};
  }
  if (given->size() != 2) {
    given->fault(fmt::format("{} is a number or [least, most]", key));
    return {};
  }
  const auto least = given->item(0).integer(1, kMaxTokens);
  const auto most = given->item(1).integer(1, kMaxTokens);
  if (!least || !most) return {};
  if (*most < *least) given->fault("the least is more than the most");
  return {static_cast<int>(*least), static_cast<int>(std::max(*least, *most))};
}

/// Arrivals of a Poisson process, lengths uniform between their bounds.
void generate(const YamlCursor& map, ServingScenario& scenario) {
  if (!map.expect_map({"count", "rate_per_s", "prompt", "output", "seed"})) return;
  const int count = integer(map, "count", 0, 1, kMaxRequests);
  if (!map.has("count")) map.require("count");
  const double rate = number(map, "rate_per_s", 0, 0, 1e9);
  const TokenRange prompt = read_range(map, "prompt");
  const TokenRange output = read_range(map, "output");
  std::mt19937_64 random(static_cast<std::uint64_t>(integer(map, "seed", 1, 0, 1 << 30)));
  const auto unit = [&] { return static_cast<double>(random() >> 11) / 9007199254740992.0; };
  const auto tokens = [&](const TokenRange& range) {
    return range.least + static_cast<int>(unit() * (range.most - range.least + 1));
  };
  double now = 0;
  for (int i = 0; i < count; ++i) {
    if (rate > 0) now += -std::log1p(-unit()) / rate;
    const int prompt_tokens = tokens(prompt);
    scenario.requests.push_back({now, prompt_tokens, tokens(output)});
  }
}

void read_list(const YamlCursor& list, ServingScenario& scenario) {
  if (list.size() > static_cast<std::size_t>(kMaxRequests))
    return list.fault(fmt::format("more than {} requests", kMaxRequests));
  const FieldInfo arrival{"arrival", FieldKind::Time, 0, 1e9, "", "", {}};
  for (std::size_t i = 0; i < list.size(); ++i) {
    const YamlCursor item = list.item(i);
    if (!item.expect_map({"arrival", "prompt", "output"})) return;
    ServingScenario::Request request;
    if (item.has("arrival"))
      if (const auto given = item.find("arrival"))
        if (const auto value = given->field(arrival)) request.arrival_s = std::get<double>(*value);
    request.prompt_tokens = read_range(item, "prompt").least;
    request.output_tokens = read_range(item, "output").least;
    scenario.requests.push_back(request);
  }
}

/// `arrival_s,prompt_tokens,output_tokens`, one request a line, a header first.
void read_csv(const YamlCursor& key, const std::string& file, ServingScenario& scenario) {
  const auto name = key.text();
  if (!name) return;
  const auto path = (std::filesystem::path(file).parent_path() / *name).string();
  const auto text = read_text_file(path, kMaxCsvBytes);
  if (!text) return key.fault(text.error().front().message);
  std::string_view rest = *text;
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string row(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!row.empty() && row.back() == '\r') row.pop_back();
    if (line == 1 || row.empty()) continue;
    const std::size_t first = row.find(',');
    const std::size_t second = first == std::string::npos ? first : row.find(',', first + 1);
    if (second == std::string::npos)
      return key.fault(
          fmt::format("{}:{}: a request is arrival_s,prompt_tokens,output_tokens", path, line));
    const auto arrival = parse_number(row.substr(0, first));
    const auto prompt = parse_integer(row.substr(first + 1, second - first - 1));
    const auto output = parse_integer(row.substr(second + 1));
    if (!arrival || !prompt || !output || *arrival < 0 || *prompt < 1 || *output < 1 ||
        *prompt > kMaxTokens || *output > kMaxTokens)
      return key.fault(fmt::format("{}:{}: '{}' is no request", path, line, shown(row)),
                       "arrival_s,prompt_tokens,output_tokens");
    scenario.requests.push_back({*arrival, static_cast<int>(*prompt), static_cast<int>(*output)});
    if (scenario.requests.size() > static_cast<std::size_t>(kMaxRequests))
      return key.fault(fmt::format("more than {} requests", kMaxRequests));
  }
}

void read_requests(const YamlCursor& root, const std::string& file, ServingScenario& scenario) {
  if (!root.has("requests")) return;
  const auto given = root.find("requests");
  if (!given) return;
  if (given->is_list()) return read_list(*given, scenario);
  if (given->is_map() && given->has("csv")) {
    if (!given->expect_map({"csv"})) return;
    if (const auto csv = given->find("csv")) read_csv(*csv, file, scenario);
    return;
  }
  generate(*given, scenario);
}

void read_curve(const YamlCursor& root, ServingScenario& scenario) {
  scenario.curve_batches = {1, 2, 4, 8, 16, 32, 64, 128, 256};
  if (!root.has("curve")) return;
  const auto map = root.find("curve");
  if (!map || !map->expect_map({"context", "batches"})) return;
  scenario.curve_context = integer(*map, "context", 2048, 1, kMaxTokens);
  if (!map->has("batches")) return;
  const auto list = map->find("batches");
  if (!list) return;
  if (!list->is_list() || list->size() > 1000)
    return list->fault("batches is a list of at most 1000 batch sizes");
  scenario.curve_batches.clear();
  for (const YamlCursor& item : list->children())
    scenario.curve_batches.push_back(static_cast<int>(item.integer(1, 1 << 20).value_or(1)));
}

void read_parallel(const YamlCursor& root, ServingScenario& scenario) {
  if (!root.has("parallel")) return;
  const auto map = root.find("parallel");
  if (!map || !map->expect_map({"tensor", "pipeline"})) return;
  scenario.layout.tensor = integer(*map, "tensor", 1, 1, 4096);
  scenario.layout.pipeline = integer(*map, "pipeline", 1, 1, 4096);
}

}  // namespace

Result<ServingScenario> read_serving_scenario(std::string_view text, const std::string& file,
                                              std::span<const std::string> preset_folders) {
  const auto document = parse_yaml(text, file);
  if (!document) return fail(document.error());
  FaultList faults;
  const YamlCursor root = YamlCursor::root(*document, faults);
  ServingScenario scenario;
  if (!root.expect_map({"name", "model", "parallel", "device", "weight_bytes", "cache_bytes",
                        "batching", "requests", "curve"}))
    return fail(faults.take(file));
  scenario.name = std::filesystem::path(file).stem().string();
  if (const auto name = root.find("name")) scenario.name = name->text().value_or(scenario.name);
  if (const auto model = root.require("model"))
    if (auto shape = read_model_block(*model, file, preset_folders))
      scenario.model = std::move(*shape);
  warn_of_model(scenario);
  read_parallel(root, scenario);
  if (const auto device = root.require("device")) read_device(*device, preset_folders, scenario);
  scenario.weight_bytes = number(root, "weight_bytes", 2, 0.25, 8);
  scenario.cache_bytes = number(root, "cache_bytes", 2, 0.25, 8);
  scenario.groups = scenario.layout.pipeline;
  if (root.has("batching"))
    if (const auto batching = root.find("batching")) read_batching(*batching, scenario);
  read_requests(root, file, scenario);
  read_curve(root, scenario);
  if (!faults.empty()) return fail(faults.take(file));
  return scenario;
}

}  // namespace pipecast

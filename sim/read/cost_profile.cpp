#include "sim/read/cost_profile.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>

#include "sim/base/fields.hpp"
#include "sim/read/json_tree.hpp"
#include "sim/read/text_file.hpp"

namespace pipecast {
namespace {

constexpr std::string_view kHeader = "what,index,forward_s,backward_input_s,backward_weight_s";
constexpr std::array<std::string_view, 3> kParts{"forward_s", "backward_input_s",
                                                 "backward_weight_s"};
const FieldInfo kSecondsField{"seconds", FieldKind::Number, 0, 1e6, {}, {}, {}};

/// What a profile lists, before it is put together.
struct Profile {
  std::map<int, StageCost> stages;
  std::map<int, StageCost> layers;
  std::optional<StageCost> embedding;
  std::optional<StageCost> head;
};

void add(StageCost& sum, const StageCost& part) {
  sum.forward += part.forward;
  sum.backward_input += part.backward_input;
  sum.backward_weight += part.backward_weight;
}

Diagnostic wrong_count(const std::string& file, std::string_view what, std::size_t have,
                       std::size_t need) {
  return input_error(fmt::format("{}: the profile has {} {}, the model {}", file, have, what, need),
                     fmt::format("list every one of the {} once, from 0", what));
}

Result<std::vector<StageCost>> put_together(const Profile& profile, const std::string& file,
                                            const std::vector<StageLayers>& stages) {
  std::vector<StageCost> costs(stages.size());
  if (!profile.stages.empty()) {
    if (profile.stages.size() != stages.size() ||
        profile.stages.rbegin()->first + 1 != static_cast<int>(stages.size()))
      return fail(wrong_count(file, "stages", profile.stages.size(), stages.size()));
    for (const auto& [index, cost] : profile.stages) costs[static_cast<std::size_t>(index)] = cost;
    return costs;
  }
  std::size_t layers = 0;
  for (const StageLayers& stage : stages) layers += static_cast<std::size_t>(stage.layers);
  if (profile.layers.size() != layers || layers == 0 ||
      profile.layers.rbegin()->first + 1 != static_cast<int>(layers))
    return fail(wrong_count(file, "layers", profile.layers.size(), layers));
  auto layer = profile.layers.begin();
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (int i = 0; i < stages[stage].layers; ++i, ++layer) add(costs[stage], layer->second);
    if (stages[stage].embedding && profile.embedding) add(costs[stage], *profile.embedding);
    if (stages[stage].head && profile.head) add(costs[stage], *profile.head);
  }
  return costs;
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (;;) {
    const std::size_t comma = line.find(',');
    cells.emplace_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

class CsvProfile {
 public:
  CsvProfile(const std::string& file, FaultList& faults) : file_(file), faults_(faults) {}

  void read_line(int number, std::string_view line) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != 5) {
      say(number, line, fmt::format("{} cells, a line has 5", cells.size()), std::string(kHeader));
      return;
    }
    StageCost cost;
    const std::array<Seconds StageCost::*, 3> parts{&StageCost::forward, &StageCost::backward_input,
                                                    &StageCost::backward_weight};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto value = parse_field(kSecondsField, cells[i + 2]);
      if (!value) return say(number, line, fmt::format("{}: {}", kParts[i], value.error()), {});
      cost.*parts[i] = Seconds{std::get<double>(*value)};
    }
    place(number, line, cells, cost);
  }

  const Profile& profile() const { return profile_; }

 private:
  void place(int number, std::string_view line, const std::vector<std::string>& cells,
             const StageCost& cost) {
    if (cells[0] == "embedding" || cells[0] == "head") {
      (cells[0] == "head" ? profile_.head : profile_.embedding) = cost;
      return;
    }
    if (cells[0] != "stage" && cells[0] != "layer")
      return say(number, line, fmt::format("'{}' is not a part of a model", shown(cells[0])),
                 "stage, layer, embedding or head");
    const FieldInfo index{"index", FieldKind::Integer, 0, 1 << 16, {}, {}, {}};
    const auto value = parse_field(index, cells[1]);
    if (!value) return say(number, line, value.error(), {});
    auto& parts = cells[0] == "stage" ? profile_.stages : profile_.layers;
    const auto position = static_cast<int>(std::get<std::int64_t>(*value));
    if (!parts.emplace(position, cost).second)
      say(number, line, fmt::format("{} {} is there twice", cells[0], position), {});
  }

  void say(int number, std::string_view line, std::string message, std::string hint) {
    faults_.add(input_error(std::move(message), std::move(hint),
                            text_span(file_, number, 1, line.size(), line)));
  }

  const std::string& file_;
  FaultList& faults_;
  Profile profile_;
};

std::optional<StageCost> json_cost(const YamlCursor& node) {
  if (!node.expect_map({kParts[0], kParts[1], kParts[2]})) return std::nullopt;
  StageCost cost;
  const std::array<Seconds StageCost::*, 3> parts{&StageCost::forward, &StageCost::backward_input,
                                                  &StageCost::backward_weight};
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (const auto given = node.require(kParts[i]))
      if (const auto value = given->field(kSecondsField))
        cost.*parts[i] = Seconds{std::get<double>(*value)};
  return cost;
}

void json_list(const YamlCursor& root, std::string_view key, std::map<int, StageCost>& parts) {
  const auto list = root.find(key);
  if (!list) return;
  if (!list->is_list()) return list->fault(fmt::format("{} must be a list", key));
  for (std::size_t i = 0; i < list->size(); ++i)
    if (const auto cost = json_cost(list->item(i))) parts[static_cast<int>(i)] = *cost;
}

}  // namespace

Result<std::vector<StageCost>> read_profile_csv(std::string_view text, const std::string& file,
                                                const std::vector<StageLayers>& stages) {
  if (auto fault = text_fault(text, file)) return fail(std::move(*fault));
  const LinedText lines{std::string(text)};
  FaultList faults;
  CsvProfile profile(file, faults);
  for (int number = 1; number <= lines.lines(); ++number) {
    std::string_view line = lines.line(number);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (number == 1 && line != kHeader)
      return fail(input_error("the first line of a profile is its header", std::string(kHeader),
                              text_span(file, 1, 1, line.size(), line)));
    if (number > 1 && !line.empty()) profile.read_line(number, line);
  }
  if (!faults.empty()) return fail(faults.take(file));
  return put_together(profile.profile(), file, stages);
}

Result<std::vector<StageCost>> read_profile_json(std::string_view text, const std::string& file,
                                                 const std::vector<StageLayers>& stages) {
  const auto document = parse_json(text, file);
  if (!document) return fail(document.error());
  FaultList faults;
  const YamlCursor root = YamlCursor::root(*document, faults);
  Profile profile;
  if (root.expect_map({"stages", "layers", "embedding", "head"})) {
    json_list(root, "stages", profile.stages);
    json_list(root, "layers", profile.layers);
    if (const auto node = root.find("embedding")) profile.embedding = json_cost(*node);
    if (const auto node = root.find("head")) profile.head = json_cost(*node);
  }
  if (!faults.empty()) return fail(faults.take(file));
  return put_together(profile, file, stages);
}

Result<std::vector<StageCost>> read_cost_profile(const std::string& path,
                                                 const std::vector<StageLayers>& stages) {
  const auto text = read_text_file(path, kMaxYamlBytes);
  if (!text) return fail(text.error());
  return path.ends_with(".json") ? read_profile_json(*text, path, stages)
                                 : read_profile_csv(*text, path, stages);
}

}  // namespace pipecast

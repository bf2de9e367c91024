#include "sim/read/published_runs.hpp"

#include <fmt/format.h>

#include "sim/read/scenario_parts.hpp"
#include "sim/read/yaml_cursor.hpp"

namespace pipecast {
namespace {

std::string text_of(const YamlCursor& map, std::string_view key) {
  const auto given = map.find(key);
  return given ? given->text().value_or("") : std::string{};
}

void read_run(const YamlCursor& row, const std::string& file, const ReadContext& context,
              FaultList& faults, PublishedSource& source) {
  if (!row.expect_map({"name", "measured", "calibrates", "group", "scenario"})) return;
  PublishedRun run;
  if (const auto name = row.require("name")) run.name = name->text().value_or("");
  const FieldInfo field{"measured", FieldKind::Time, 1e-6, 1e6, {}, {}, {}};
  if (const auto measured = row.require("measured"))
    if (const auto value = measured->field(field)) run.measured_s = std::get<double>(*value);
  run.calibrates = text_of(row, "calibrates");
  run.group = text_of(row, "group");
  const auto scenario = row.require("scenario");
  if (!scenario) return;
  run.scenario = read_scenario_block(*scenario, file, context, faults);
  if (run.scenario.name.empty()) run.scenario.name = run.name;
  if (!run.scenario.model) scenario->fault_at_key("a published run needs a model in its workload");
  source.runs.push_back(std::move(run));
}

std::size_t row_count(const YamlDocument& document) {
  FaultList ignored;
  const auto rows = YamlCursor::root(document, ignored).find("rows");
  return rows && rows->is_list() ? rows->size() : 0;
}

Diagnostics override_rows(YamlDocument& document, std::span<const Override> overrides) {
  const std::size_t rows = row_count(document);
  for (const Override& change : overrides)
    for (std::size_t row = 0; row < rows; ++row) {
      const std::string path = fmt::format("rows.{}.scenario.{}", row, change.key_path);
      if (Diagnostics faults = override_yaml(document, path, change.value); !faults.empty())
        return faults;
    }
  return {};
}

}  // namespace

Result<PublishedSource> read_published_runs(std::string_view text, const std::string& file,
                                            const ReadContext& context,
                                            std::span<const Override> overrides) {
  auto document = parse_yaml(text, file);
  if (!document) return fail(document.error());
  if (Diagnostics refused = override_rows(*document, overrides); !refused.empty())
    return fail(std::move(refused));
  FaultList faults;
  const YamlCursor root = YamlCursor::root(*document, faults);
  PublishedSource source;
  if (root.expect_map({"source", "reference", "note", "rows", "outside"})) {
    source.source = text_of(root, "source");
    source.reference = text_of(root, "reference");
    source.note = text_of(root, "note");
    if (const auto rows = root.require("rows"))
      for (const YamlCursor& row : rows->children()) read_run(row, file, context, faults, source);
    if (const auto outside = root.find("outside"))
      for (const YamlCursor& row : outside->children())
        if (row.expect_map({"what", "why"}))
          source.outside.emplace_back(text_of(row, "what"), text_of(row, "why"));
  }
  if (!faults.empty()) return fail(faults.take(file));
  return source;
}

}  // namespace pipecast

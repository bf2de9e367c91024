#pragma once
#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "tests/support/simulated.hpp"

namespace pipecast::testing {

/// A registered schedule with parameters, by the name it has in messages.
struct RegistryCase {
  const ScheduleInfo* schedule;
  FieldValues params;
  std::string label;
};

/// Parameters other than the defaults that the laws also run over.
inline std::vector<std::pair<std::string, Texts>> parameter_variants() {
  return {
      {"interleaved-1f1b", {{"group", "4"}}},
      {"combined-1f1b", {{"group", "5"}}},
      {"group-interleaved", {{"group", "1"}}},
      {"group-interleaved", {{"group", "2"}}},
      {"group-interleaved", {{"group", "3"}}},
      {"group-interleaved", {{"group", "5"}}},
      {"chimera", {{"pairs", "2"}}},
      {"chimera", {{"pairs", "3"}}},
      {"hanayo", {{"waves", "2"}}},
      {"eager-1f1b", {{"ahead", "0"}}},
      {"eager-1f1b", {{"ahead", "3"}}},
      {"pipedream", {{"steps", "2"}, {"accumulate", "3"}}},
      {"pipedream-2bw", {{"steps", "1"}}},
      {"seq1f1b", {{"cuts", "3"}, {"cut_costs", "2:3:4"}, {"cut_sizes", "4:3:2"}}},
  };
}

/// Every registered schedule with its defaults, then the variants. Searching schedules get no
/// search time: the laws hold for whatever they start from.
inline std::vector<RegistryCase> registry_cases(const std::vector<ScheduleInfo>& schedules) {
  std::vector<RegistryCase> cases;
  const auto add = [&](const ScheduleInfo& schedule, Texts texts) {
    std::string label(schedule.name);
    for (const auto& [name, text] : texts) label += " " + name + "=" + text;
    for (const FieldInfo& field : schedule.fields)
      if (field.name == "search_seconds") texts.emplace("search_seconds", "0 s");
    if (auto values = parse_fields(schedule.fields, texts))
      cases.push_back({&schedule, *values, label});
  };
  for (const ScheduleInfo& schedule : schedules) add(schedule, {});
  for (const auto& [name, texts] : parameter_variants())
    if (const ScheduleInfo* schedule = find_schedule(schedules, name)) add(*schedule, texts);
  return cases;
}

/// The shapes up to the given sizes that the schedule accepts.
inline std::vector<Shape> accepted_shapes(const RegistryCase& registered, const Shape& largest) {
  std::vector<Shape> shapes;
  for (int ranks = 1; ranks <= largest.ranks; ++ranks)
    for (int chunks = 1; chunks <= largest.chunks; ++chunks)
      for (int microbatches = 1; microbatches <= largest.microbatches; ++microbatches) {
        const Shape shape{ranks, chunks, microbatches};
        const Workload workload = uniform_workload(shape, {{1.0}, {1.0}, {1.0}});
        if (registered.schedule->check({shape, registered.params, workload}).empty())
          shapes.push_back(shape);
      }
  return shapes;
}

}  // namespace pipecast::testing

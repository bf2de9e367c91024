#include "tools/schedule_arguments.hpp"

#include <algorithm>

#include "sim/base/quantity.hpp"
#include "tools/console.hpp"

namespace pipecast {
namespace {

constexpr const char* kCostsHint = "such as --costs 1,1,1 or, with a delay, --costs 20,20,10,0.5";
/// Sums over the largest program stay finite and exact enough to be told apart.
constexpr double kLargestCost = 1e9;

struct Costs {
  StageCost stage{Seconds{1}, Seconds{1}, Seconds{1}};
  Seconds delay;
};

Result<Costs> parse_costs(const std::string& text) {
  std::vector<Seconds> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string piece = text.substr(begin, comma - begin);
    const auto number = parse_number(piece);
    if (!number || *number < 0 || *number > kLargestCost)
      return fail(input_error(
          "--costs '" + text + "': '" + piece + "' is not a number from 0 to 1e9", kCostsHint));
    numbers.push_back({*number});
    begin = comma + 1;
  }
  if (numbers.size() != 3 && numbers.size() != 4)
    return fail(input_error("--costs '" + text + "' has " + std::to_string(numbers.size()) +
                                " numbers; it takes F,I,W and perhaps C",
                            kCostsHint));
  return Costs{{numbers[0], numbers[1], numbers[2]}, numbers.size() == 4 ? numbers[3] : Seconds{0}};
}

Result<FieldValues> parse_params(const CLI::App& app, const ScheduleInfo& schedule) {
  std::map<std::string, std::string, std::less<>> texts;
  for (const std::string& text : texts_of(app, "--param")) {
    const std::optional<KeyValue> pair = key_value(text);
    if (!pair) return fail(input_error("--param '" + text + "' is not NAME=VALUE"));
    if (!texts.emplace(pair->key, pair->value).second)
      return fail(input_error("--param " + pair->key + " is given twice"));
  }
  return parse_fields(schedule.fields, texts);
}

const ScheduleInfo* named_schedule(const Session& session, const std::string& name,
                                   Diagnostics& faults) {
  const ScheduleInfo* schedule = find_schedule(session.schedules, name);
  if (schedule != nullptr) return schedule;
  std::vector<std::string> names;
  for (const ScheduleInfo& known : session.schedules) names.emplace_back(known.name);
  faults.push_back(input_error("there is no schedule '" + name + "'", suggest(name, names)));
  return nullptr;
}

}  // namespace

void declare_schedule_options(CLI::App& app) {
  value_option(app, "name", "NAME", "a name from 'pipecast schedule list'")->required();
  integer_option(app, "-p,--ranks", "P", "pipeline ranks", 1, kMaxRanks)->required();
  integer_option(app, "-m,--microbatches", "M", "microbatches per step", 1, kMaxMicrobatches)
      ->required();
  integer_option(app, "-v,--chunks", "V", "model chunks per rank (default: the schedule's)", 1,
                 kMaxChunks);
  value_option(app, "--costs", "F,I,W[,C]",
               "ticks of a forward, of the input and of the weight part of a backward, and of the "
               "way to the next rank (default 1,1,1,0)");
  value_option(app, "--param", "NAME=VALUE", "a parameter of the schedule; repeatable")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<std::vector<std::string>> named_schedules(const CLI::App& app, const Session& session) {
  std::vector<std::string> known;
  for (const ScheduleInfo& info : session.schedules) known.emplace_back(info.name);
  const auto names = text_of(app, "--schedules");
  if (!names) return known;
  Diagnostics faults;
  std::vector<std::string> wanted = listed(*names);
  for (const std::string& name : wanted)
    if (find_schedule(session.schedules, name) == nullptr)
      faults.push_back(input_error("there is no schedule '" + name + "'", suggest(name, known)));
  if (wanted.empty()) faults.push_back(input_error("--schedules names no schedule"));
  if (!faults.empty()) return fail(std::move(faults));
  return wanted;
}

tl::expected<ScheduleQuery, ExitCode> schedule_query(const CLI::App& app, const Session& session) {
  Diagnostics unknown;
  Diagnostics faults;
  ScheduleQuery query;
  query.schedule = named_schedule(session, *text_of(app, "name"), unknown);
  Result<Costs> costs = parse_costs(text_of(app, "--costs").value_or("1,1,1"));
  if (!costs) faults.insert(faults.end(), costs.error().begin(), costs.error().end());
  if (query.schedule != nullptr) {
    Result<FieldValues> params = parse_params(app, *query.schedule);
    if (params)
      query.params = std::move(*params);
    else
      faults.insert(faults.end(), params.error().begin(), params.error().end());
  }
  if (!unknown.empty()) {
    unknown.insert(unknown.end(), faults.begin(), faults.end());
    return tl::unexpected(report_faults(unknown));
  }
  if (!faults.empty()) return tl::unexpected(report_usage(faults));
  query.shape = {*integer_of(app, "--ranks"),
                 integer_of(app, "--chunks").value_or(query.schedule->default_chunks),
                 *integer_of(app, "--microbatches")};
  if (const Diagnostics bounds = check(query.shape); !bounds.empty())
    return tl::unexpected(report_faults(bounds));
  query.workload = uniform_workload(query.shape, costs->stage);
  query.delay = costs->delay;
  return query;
}

Result<Program> program_of(const ScheduleQuery& query) {
  return make_program(*query.schedule, {query.shape, query.params, query.workload, query.delay});
}

}  // namespace pipecast

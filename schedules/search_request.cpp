#include "schedules/search_request.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "schedules/search_bound.hpp"

namespace pipecast::search {
namespace {

constexpr std::int64_t kMostOperations = 2'000'000;  ///< that a search holds in memory
constexpr double kOperationsPerMove = 20;
constexpr double kEffortPerOperation = 2e5;  ///< most that a second of search may take

struct Parameters {
  double memory_limit = 0;
  Bytes memory_limit_bytes;
  std::string objective = "span";
  Seconds search_seconds{1};
  double moves = 0;
  int seed = 1;
  Seconds transfer{-1};
};

std::array<Field<Parameters>, 7> table() {
  return {{
      {"memory_limit", &Parameters::memory_limit,
       "activations (of one chunk and microbatch) a rank may hold at any moment, fractions "
       "allowed; "
       "0 means P per chunk, what 1F1B holds"},
      {"memory_limit_bytes", &Parameters::memory_limit_bytes,
       "the same limit in bytes, instead of memory_limit; needs the workload's activation bytes"},
      {"objective",
       &Parameters::objective,
       "what to make short: the largest span of a rank, or the makespan",
       0,
       0,
       {"span", "makespan"}},
      {"search_seconds", &Parameters::search_seconds,
       "search budget; turned into a fixed number of moves (2.5 million a second, 10000 per "
       "operation "
       "for small steps), so the result never depends on a clock; stages that differ take it "
       "twice; 0 s takes the best constructed "
       "order",
       0, 3600},
      {"moves", &Parameters::moves,
       "search budget in moves of 20 timed operations each, instead of search_seconds; 0: not "
       "given",
       0, 1e10},
      {"seed", &Parameters::seed, "of the search", 0, 1e9},
      {"transfer", &Parameters::transfer,
       "time of a message between neighbouring ranks that the search plans with, message overhead "
       "not included; negative: what the platform says",
       -1},
  }};
}

Parameters parameters_of(const ScheduleRequest& request) {
  const std::array<Field<Parameters>, 7> fields = table();
  return pipecast::bind<Parameters>(fields, request.params);
}

bool has_activation_bytes(const Workload& workload) {
  return std::any_of(workload.bytes.begin(), workload.bytes.end(),
                     [](const StageBytes& stage) { return stage.held_by_forward.value > 0; });
}

/// A small step needs no whole second.
SearchPlan plan_of(const Parameters& parameters, const Problem& problem) {
  const double per_second = std::min(
      kEffortPerSecond, kEffortPerOperation * static_cast<double>(problem.duration.size()));
  const double effort = parameters.moves > 0 ? parameters.moves * kOperationsPerMove
                                             : parameters.search_seconds.value * per_second;
  return {static_cast<Effort>(effort), static_cast<std::uint64_t>(parameters.seed)};
}

/// The costs of every kind and chunk replaced by their mean; false when they were all equal.
bool level(Problem& problem) {
  const auto microbatches = static_cast<std::size_t>(problem.microbatches);
  bool uneven = false;
  for (int code = 0; code < problem.symbols(); ++code) {
    const Ticks first = problem.cost(0, code, 0);
    double sum = 0;
    for (int rank = 0; rank < problem.ranks; ++rank)
      for (int microbatch = 0; microbatch < problem.microbatches; ++microbatch) {
        const Ticks cost = problem.cost(rank, code, microbatch);
        uneven = uneven || cost != first;
        sum += static_cast<double>(cost);
      }
    const double number = static_cast<double>(problem.ranks) * problem.microbatches;
    const Ticks mean = std::max<Ticks>(1, static_cast<Ticks>(sum / number));
    for (int rank = 0; rank < problem.ranks; ++rank)
      std::fill_n(problem.duration.begin() +
                      static_cast<std::ptrdiff_t>(problem.row(rank, code) * microbatches),
                  microbatches, mean);
  }
  return uneven;
}

Diagnostic too_small(std::string_view schedule, const Problem& problem, int rank, bool in_bytes) {
  const auto number = [&](std::int64_t amount) {
    return in_bytes ? format(Bytes{static_cast<double>(amount)})
                    : std::to_string(amount) + " activations";
  };
  const std::int64_t limit = problem.limit[static_cast<std::size_t>(rank)];
  return infeasible(std::string(schedule) + ": the memory limit on rank " + std::to_string(rank) +
                        " is " + number(limit) + ", one microbatch needs " +
                        number(smallest_limit(problem, rank)),
                    (in_bytes ? "memory_limit_bytes: at least " : "memory_limit: at least ") +
                        (in_bytes ? number(smallest_limit(problem, rank))
                                  : std::to_string(smallest_limit(problem, rank))));
}

}  // namespace

std::vector<FieldInfo> parameters() {
  const std::array<Field<Parameters>, 7> fields = table();
  return describe<Parameters>(fields);
}

Diagnostics check_request(std::string_view schedule, const ScheduleRequest& request) {
  const Shape& shape = request.shape;
  const std::int64_t operations = std::int64_t{3} * shape.stages() * shape.microbatches;
  if (operations > kMostOperations)
    return {infeasible(
        std::string(schedule) + " searches at most " + std::to_string(kMostOperations) +
            " operations, " + std::to_string(shape.stages()) + " stages and " +
            std::to_string(shape.microbatches) + " microbatches have " + std::to_string(operations),
        "use fewer microbatches")};
  const bool in_bytes = has_activation_bytes(request.workload);
  if (parameters_of(request).memory_limit_bytes.value > 0 && !in_bytes)
    return {infeasible(std::string(schedule) +
                           ": memory_limit_bytes is given, the workload has no activation bytes",
                       "give workload.activation, or memory_limit in activations")};
  const Problem problem = problem_of(request);
  Diagnostics faults;
  for (int rank = 0; rank < problem.ranks; ++rank)
    if (problem.limit[static_cast<std::size_t>(rank)] < smallest_limit(problem, rank))
      faults.push_back(too_small(schedule, problem, rank, in_bytes));
  if (faults.size() > kMaxReported) faults.resize(kMaxReported);
  return faults;
}

Problem problem_of(const ScheduleRequest& request) {
  const Parameters parameters = parameters_of(request);
  Limits limits;
  limits.transfer = request.workload.overheads.message +
                    (parameters.transfer.value < 0 ? request.transfer_hint : parameters.transfer);
  limits.activations = parameters.memory_limit;
  limits.bytes = parameters.memory_limit_bytes;
  if (limits.activations <= 0 && limits.bytes.value <= 0)
    limits.activations = request.shape.stages();
  limits.objective =
      parameters.objective == "makespan" ? Objective::Makespan : Objective::LargestSpan;
  return make_problem(request, limits);
}

Program solve(const ScheduleRequest& request, const std::vector<Program>& programs) {
  const Problem problem = problem_of(request);
  const SearchPlan plan = plan_of(parameters_of(request), problem);
  std::vector<Order> starts;
  for (const Program& program : programs) starts.push_back(to_order(problem, program));
  Problem even = problem;
  if (level(even)) starts.push_back(best_order(even, plan, starts).order);
  return to_program(problem, best_order(problem, plan, starts).order);
}

TimeBound bound_of(const ScheduleRequest& request) {
  const Problem problem = problem_of(request);
  return {.at_least = {static_cast<double>(lower_bound(problem)) * problem.tick_s},
          .of = problem.objective == Objective::Makespan ? TimeBound::Of::Makespan
                                                         : TimeBound::Of::LargestRankSpan};
}

}  // namespace pipecast::search

#include <algorithm>
#include <array>
#include <string>

#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

struct ChimeraParams {
  int pairs = 1;
};

using ChimeraField = Field<ChimeraParams>;
const std::array kFields{ChimeraField{"pairs", &ChimeraParams::pairs,
                                      "down/up pairs of pipelines; every rank holds 2·pairs stages",
                                      1, 100}};

int chosen_pairs(const ScheduleRequest& request) {
  return pipecast::bind<ChimeraParams>(kFields, request.params).pairs;
}

Diagnostics check_chimera(const ScheduleRequest& request) {
  const int ranks = request.shape.ranks;
  const int pairs = chosen_pairs(request);
  Diagnostics faults = require_one_chunk("chimera", request.shape);
  if (ranks % 2 != 0) {
    faults.push_back(
        infeasible("chimera needs an even number of ranks, there are " + std::to_string(ranks),
                   "set ranks to " + nearest_multiples(ranks, 2)));
    return faults;
  }
  const auto divides = [&](int candidate) { return ranks / 2 % candidate == 0; };
  if (!divides(pairs))
    faults.push_back(infeasible("chimera: " + std::to_string(pairs) +
                                    " pairs do not divide half of the " + std::to_string(ranks) +
                                    " ranks",
                                "set pairs to " + nearest_valid(pairs, 1, ranks / 2, divides)));
  return faults;
}

/// Pipeline 2·pair runs down the ranks from rank pair·P/pairs, pipeline 2·pair+1 the reverse way.
int rank_of(const Shape& shape, int pairs, int pipeline, int stage) {
  const int first = pipeline / 2 * (shape.ranks / pairs);
  const int step = pipeline % 2 == 0 ? stage : shape.ranks - 1 - stage;
  return (first + step) % shape.ranks;
}

/// A microbatch in its pipeline, entering at a time step.
struct Injection {
  int pipeline;
  std::int64_t step;
};

/// Rounds of P microbatches, P/(2·pairs) per pipeline, every second step one; a round follows the
/// last when its first microbatch has come back, 2P steps later. The first round numbers
/// microbatches pair by pair, later ones all pipelines down before those up: the order in which the
/// authors' code creates them.
std::vector<Injection> injections(const Shape& shape, int pairs) {
  const int per_pipeline = shape.ranks / (2 * pairs);
  std::vector<Injection> result;
  for (std::int64_t round = 0; std::ssize(result) < shape.microbatches; ++round)
    for (int turn = 0; turn < 2 * pairs; ++turn) {
      const int pipeline = round == 0 ? turn : turn % pairs * 2 + turn / pairs;
      for (int i = 0; i < per_pipeline && std::ssize(result) < shape.microbatches; ++i)
        result.push_back({pipeline, 2 * shape.ranks * round + 2 * i});
    }
  return result;
}

Placement chimera_placement(const Shape& shape, int pairs, const std::vector<Injection>& entries) {
  Placement placement;
  placement.stages = shape.ranks;
  for (int pipeline = 0; pipeline < 2 * pairs; ++pipeline)
    for (int stage = 0; stage < shape.ranks; ++stage)
      placement.rank_of.push_back({rank_of(shape, pairs, pipeline, stage)});
  for (const Injection& entry : entries)
    placement.direction_of.push_back(static_cast<std::uint8_t>(entry.pipeline));
  return placement;
}

/// Every microbatch advances one stage per step, up to the last stage and back; the order of a rank
/// is the order of its steps.
Result<Program> generate_chimera(const ScheduleRequest& request) {
  const Shape& shape = request.shape;
  const int pairs = chosen_pairs(request);
  const std::vector<Injection> entries = injections(shape, pairs);
  Program program = empty_program(shape, chimera_placement(shape, pairs, entries));
  std::vector<std::vector<SlottedOp>> slots(program.ranks.size());
  for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
    const Injection& entry = entries[static_cast<std::size_t>(microbatch)];
    for (int stage = 0; stage < shape.ranks; ++stage) {
      auto& line = slots[static_cast<std::size_t>(rank_of(shape, pairs, entry.pipeline, stage))];
      line.push_back({entry.step + stage, forward(stage, microbatch)});
      line.push_back({entry.step + 2 * shape.ranks - 1 - stage, backward(stage, microbatch)});
    }
  }
  for (std::size_t rank = 0; rank < slots.size(); ++rank)
    program.ranks[rank] = in_slot_order(std::move(slots[rank]));
  return program;
}

}  // namespace

ScheduleInfo chimera() {
  return {.name = "chimera",
          .summary =
              "pairs of pipelines in opposite directions fill each other's bubbles; every "
              "rank holds 2·pairs stages",
          .provenance = "Li and Hoefler 2021; rounds concatenated as in Shigangli/Chimera",
          .backward = BackwardKind::Full,
          .default_chunks = 1,
          .fields = describe<ChimeraParams>(kFields),
          .check = check_chimera,
          .generate = generate_chimera,
          .placement = [](const ScheduleRequest& request) {
            const int pairs = chosen_pairs(request);
            return chimera_placement(request.shape, pairs, injections(request.shape, pairs));
          }};
}

}  // namespace pipecast

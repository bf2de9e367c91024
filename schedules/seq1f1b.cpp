#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "schedules/building.hpp"
#include "schedules/catalogue.hpp"

namespace pipecast {
namespace {

struct CutParams {
  int cuts = 2;
  std::string cut_costs;
  std::string cut_sizes;
};

using CutField = Field<CutParams>;
const std::array kFields{
    CutField{"cuts", &CutParams::cuts, "parts of each microbatch along the sequence", 1, 1024},
    CutField{
        "cut_costs", &CutParams::cut_costs,
        "seconds of the cuts in proportion, such as 3:4:5 (attention makes later ones dearer); "
        "empty: equal"},
    CutField{"cut_sizes", &CutParams::cut_sizes,
             "bytes of the cuts in proportion, such as 5:4:3 (their tokens); empty: equal"}};

CutParams params_of(const ScheduleRequest& request) {
  return pipecast::bind<CutParams>(kFields, request.params);
}

/// "3:4:5" → 0.25, 0.333…, 0.417…; equal shares when empty.
Result<std::vector<double>> shares(std::string_view field, const std::string& text, int cuts) {
  std::vector<double> parts;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    const auto number = parse_number(std::string_view(text).substr(begin, end - begin));
    if (!number || *number <= 0)
      return fail(infeasible("seq1f1b: " + std::string(field) + " is '" + text.substr(0, 40) +
                                 "', which is not a list of positive numbers",
                             "write it as 3:4:5"));
    parts.push_back(*number);
    begin = end + 1;
  }
  if (text.empty()) parts.assign(static_cast<std::size_t>(cuts), 1.0);
  if (std::ssize(parts) != cuts)
    return fail(infeasible("seq1f1b: " + std::string(field) + " names " +
                               std::to_string(parts.size()) + " cuts, cuts is " +
                               std::to_string(cuts),
                           "set cuts to " + std::to_string(parts.size())));
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  for (double& part : parts) part /= sum;
  return parts;
}

void append(Diagnostics& faults, Diagnostics more) {
  for (Diagnostic& fault : more) faults.push_back(std::move(fault));
}

Diagnostics check_seq1f1b(const ScheduleRequest& request) {
  const CutParams params = params_of(request);
  Diagnostics faults = require_one_chunk("seq1f1b", request.shape);
  if (auto costs = shares("cut_costs", params.cut_costs, params.cuts); !costs)
    append(faults, std::move(costs.error()));
  if (auto sizes = shares("cut_sizes", params.cut_sizes, params.cuts); !sizes)
    append(faults, std::move(sizes.error()));
  append(faults, require_units("seq1f1b", request.shape, params.cuts));
  return faults;
}

/// 1F1B over cuts: P−1−r + cuts−1 warm-up forwards, then pairs. Microbatches go in order, forwards
/// by ascending cut and backwards by descending cut, since a cut attends to those before it.
Result<Program> generate_seq1f1b(const ScheduleRequest& request) {
  const CutParams params = params_of(request);
  const int cuts = params.cuts;
  Shape shape = request.shape;
  shape.microbatches *= cuts;
  Program program = empty_program(shape, loop_placement(shape));
  if (cuts > 1)
    program.cuts = {*shares("cut_costs", params.cut_costs, cuts),
                    *shares("cut_sizes", params.cut_sizes, cuts)};
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::vector<Op>& ops = program.ranks[static_cast<std::size_t>(rank)];
    ops.reserve(2 * static_cast<std::size_t>(shape.microbatches));
    const int warmup = std::min(shape.microbatches, shape.ranks - 1 - rank + cuts - 1);
    for (int unit = 0; unit < warmup; ++unit) ops.push_back(forward(rank, unit));
    for (int unit = 0; unit < shape.microbatches; ++unit) {
      if (warmup + unit < shape.microbatches) ops.push_back(forward(rank, warmup + unit));
      ops.push_back(backward(rank, unit / cuts * cuts + cuts - 1 - unit % cuts));
    }
  }
  return program;
}

}  // namespace

ScheduleInfo seq1f1b() {
  return {.name = "seq1f1b",
          .summary =
              "1F1B over microbatches cut along the sequence, backward from the last cut: "
              "bubble and activations shrink with the cuts",
          .provenance = "Sun et al. 2024; order of sail-sg zero-bubble's seq1f1b",
          .backward = BackwardKind::Full,
          .default_chunks = 1,
          .fields = describe<CutParams>(kFields),
          .check = check_seq1f1b,
          .generate = generate_seq1f1b};
}

}  // namespace pipecast

// Prints the tables of docs/zb-auto.md.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/support/paper_limits.hpp"

namespace pipecast::testing {
namespace {

/// Bubble rates are differences: no minus before a zero of four digits.
double rate(double bubble) { return bubble < 0 && bubble > -5e-5 ? 0 : bubble; }

const Texts kBudget = {{"search_seconds", "1 s"}};

/// Printed and found bubble rates over the limits of figure 9, one line per limit.
void print_limits(const std::string& model, const Shape& one_chunk) {
  fmt::print("### {}, P = {}, m = {}\n\n", model, one_chunk.ranks, one_chunk.microbatches);
  fmt::print(
      "| limit (P M_B) | ZB printed | zb-auto | bound | ZB-V printed | zb-v-auto | bound |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  std::map<double, std::string> lines;
  for (const PrintedLimit& printed : printed_limits()) {
    const Shape& shape = printed.paper.shape;
    if (printed.source != "figure9" || printed.model != model || shape.ranks != one_chunk.ranks ||
        shape.microbatches != one_chunk.microbatches)
      continue;
    const Searched found = searched(printed.paper, kBudget).value();
    lines[printed.paper.limit] += fmt::format(" {:.4f} | {:.4f} | {:.4f} |", printed.bubble,
                                              rate(found.bubble), rate(found.bubble_bound));
  }
  for (const auto& [limit, line] : lines) fmt::print("| {} |{}\n", limit, line);
  fmt::print("\n");
}

void print_table5() {
  fmt::print("### Tables 5 and 8\n\n");
  fmt::print("| model | P | m | schedule | limit (P M_B) | printed | found | bound |\n");
  fmt::print("|---|---|---|---|---|---|---|---|\n");
  for (const PrintedLimit& printed : printed_limits()) {
    if (printed.source == "figure9") continue;
    const Searched found = searched(printed.paper, kBudget).value();
    fmt::print("| {} | {} | {} | {} | {} | {:.4f} | {:.4f} | {:.4f} |\n", printed.model,
               printed.paper.shape.ranks, printed.paper.shape.microbatches, printed.paper.schedule,
               printed.paper.limit, printed.bubble, rate(found.bubble), rate(found.bubble_bound));
  }
  fmt::print("\n");
}

struct Uneven {
  const char* what;
  double first;
  double last;
  double middle;  ///< of stage 3
};

double bubble(const std::string& name, const Shape& shape, const Texts& params,
              const Workload& planned, const Workload& real, Seconds message) {
  const auto schedules = builtin_schedules();
  const ScheduleInfo& schedule = *find_schedule(schedules, name);
  const FieldValues values = parse_fields(schedule.fields, params).value();
  const Program program = make_program(schedule, {shape, values, planned, message}).value();
  const Simulated run = simulated(program, real, message).value();
  return 1 - run.busiest_s / run.max_rank_span_s;
}

/// Stages that differ, 6.2B costs on 8 ranks and 24 microbatches, activations counted in M_B.
void print_uneven() {
  const Shape shape{8, 1, 24};
  const StageCost cost{{29718e-6}, {29444e-6}, {19927e-6}};
  const Seconds message{527e-6};
  fmt::print(
      "| stages | limit (activations) | zb-h1 | order for equal stages | zb-auto | bound |\n");
  fmt::print("|---|---|---|---|---|---|\n");
  for (const Uneven& uneven : {Uneven{"all equal", 1, 1, 1},
                               {"one layer of four less at both ends", 0.75, 0.75, 1},
                               {"embedding: first × 1.15", 1.15, 1, 1},
                               {"head: last × 1.4", 1, 1.4, 1},
                               {"embedding and head", 1.15, 1.4, 1},
                               {"stage 3 × 1.3", 1, 1, 1.3}})
    for (const char* limit : {"8", "12", "16"}) {
      Workload real = uniform_workload(shape, cost);
      const auto scale = [&](std::size_t stage, double factor) {
        StageCost& scaled = real.costs[stage];
        scaled = {scaled.forward * factor, scaled.backward_input * factor,
                  scaled.backward_weight * factor};
      };
      scale(0, uneven.first);
      scale(7, uneven.last);
      scale(3, uneven.middle);
      Texts params = kBudget;
      params["memory_limit"] = limit;
      const auto schedules = builtin_schedules();
      const ScheduleInfo& zb_auto = *find_schedule(schedules, "zb-auto");
      const FieldValues values = parse_fields(zb_auto.fields, params).value();
      const TimeBound bound = zb_auto.lower_bound({shape, values, real, message});
      double busiest = 0;
      for (const StageCost& stage : real.costs)
        busiest = std::max(
            busiest, 24 * (stage.forward + stage.backward_input + stage.backward_weight).value);
      fmt::print(
          "| {} | {} | {:.4f} | {:.4f} | {:.4f} | {:.4f} |\n", uneven.what, limit,
          rate(bubble("zb-h1", shape, {}, real, real, message)),
          rate(bubble("zb-auto", shape, params, uniform_workload(shape, cost), real, message)),
          rate(bubble("zb-auto", shape, params, real, real, message)),
          rate(1 - busiest / bound.at_least.value));
    }
  fmt::print("\n");
}

}  // namespace
}  // namespace pipecast::testing

int main() {
  fmt::print("## Stages that differ\n\n");
  pipecast::testing::print_uneven();
  fmt::print("## Held against the printed rates\n\n");
  pipecast::testing::print_table5();
  pipecast::testing::print_limits("6.2B", {16, 1, 48});
  pipecast::testing::print_limits("28.3B", {32, 1, 96});
}

#include <algorithm>

#include "sim/study/formula_lists.hpp"
#include "sim/study/formulas.hpp"

namespace pipecast {
namespace {

using At = FormulaPoint;
using Q = FormulaQuantity;

constexpr std::string_view kGpipe = "Huang et al. 2019; tutorials";
constexpr std::string_view kSc21 = "Narayanan et al. 2021 (SC21)";
constexpr std::string_view kCounted = "counted from the order";
constexpr std::string_view kBatch = "batch arithmetic";

Ratio plain_makespan(const At& x) { return (x.m + x.P - 1) * x.pass(); }
Ratio filled_and_drained(const At& x) { return (x.m + x.P - 1) * x.pass() + 2 * (x.P - 1) * x.c; }
Ratio of_total(const At& x) { return Ratio(x.P - 1, x.m + x.P - 1); }
Ratio of_ideal(const At& x) { return Ratio(x.P - 1, x.m); }
Ratio zero(const At&) { return 0; }
Ratio batch(const At& x) { return x.b * x.m * x.d; }
Ratio batch_times_stages(const At& x) { return x.b * x.m * x.d * x.P; }
Ratio loop_messages(const At& x) { return 2 * x.m * (x.P * x.v - 1); }

/// ceil(a ÷ b) of positive numbers.
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// What every textbook says of both.
void add_flush_pair(std::vector<FormulaInfo>& list, std::string_view schedule) {
  list.insert(list.end(), {
                              {schedule, Q::BubbleFraction, "(P-1)/(m+P-1)", kGpipe, of_total},
                              {schedule, Q::BubbleOverhead, "(P-1)/m", kSc21, of_ideal},
                              {schedule, Q::Makespan, "(m+P-1)(F+B)", kGpipe, plain_makespan},
                              {schedule, Q::Makespan, "(m+P-1)(F+B) + 2(P-1)c",
                               "fill and drain pay for the delay", filled_and_drained},
                          });
}

void add_gpipe(std::vector<FormulaInfo>& list) {
  add_flush_pair(list, "gpipe");
  list.insert(list.end(),
              {
                  {"gpipe", Q::PeakInFlight, "m", kGpipe, [](const At& x) { return Ratio(x.m); }},
                  {"gpipe", Q::PeakGrowth, "m: memory is O(m)", kGpipe,
                   [](const At& x) { return Ratio(x.m); }},
                  {"gpipe", Q::Messages, "2m(P-1)", kCounted, loop_messages},
                  {"gpipe", Q::Samples, "b m d", kBatch, batch},
                  {"gpipe", Q::Samples, "b m d P: stages counted too", "a mistake in tutorials",
                   batch_times_stages},
              });
}

void add_1f1b(std::vector<FormulaInfo>& list) {
  add_flush_pair(list, "1f1b");
  list.insert(list.end(), {
                              {"1f1b", Q::Makespan, "the makespan of gpipe",
                               "both idle equally long", nullptr, "gpipe"},
                              {"1f1b", Q::Makespan, "(m+P-1)(F+B) + 2c(P+m-2-ceil((m-1)/P))",
                               "the longest cycle of the order: P microbatches per round trip",
                               [](const At& x) -> Ratio {
                                 return (x.m + x.P - 1) * x.pass() +
                                        2 * x.c * (x.P + x.m - 2 - ceil_div(x.m - 1, x.P));
                               }},
                              {"1f1b", Q::PeakInFlight, "min(m, P-r)", kSc21,
                               [](const At& x) { return Ratio(std::min(x.m, x.P - x.r)); }},
                              {"1f1b", Q::LargestPeak, "P", "Qi et al. 2024: p M_B",
                               [](const At& x) { return Ratio(x.P); }},
                              {"1f1b", Q::PeakGrowth, "0: memory is O(P)", kSc21, zero},
                              {"1f1b", Q::Messages, "2m(P-1)", kCounted, loop_messages},
                              {"1f1b", Q::Samples, "b m d", kBatch, batch},
                              {"1f1b", Q::Samples, "b m d P: stages counted too",
                               "a mistake in tutorials", batch_times_stages},
                          });
}

void add_relatives(std::vector<FormulaInfo>& list) {
  list.insert(
      list.end(),
      {
          {"eager-1f1b",
           Q::Makespan,
           "(m+P-1)(F+B) + 2(P-1)c",
           "fill and drain pay for the delay",
           filled_and_drained,
           {},
           FormulaRelation::Equals,
           "ahead"},
          {"eager-1f1b",
           Q::PeakInFlight,
           "min(m, (1+n)(P-1-r)+1), n = ahead",
           kCounted,
           [](const At& x) { return Ratio(std::min(x.m, (1 + x.n) * (x.P - 1 - x.r) + 1)); },
           {},
           FormulaRelation::Equals,
           "ahead"},
          {"eager-1f1b", Q::PeakGrowth, "0: memory is O(P)", kCounted, zero},
          {"eager-1f1b", Q::Messages, "2m(P-1)", kCounted, loop_messages},
          {"1f1b-bpipe", Q::Makespan, "the makespan of 1f1b", "Kim et al. 2023", nullptr, "1f1b"},
          {"1f1b-bpipe",
           Q::LargestPeak,
           "at most ceil((P+2)/2)",
           "Kim et al. 2023",
           [](const At& x) { return Ratio(ceil_div(x.P + 2, 2)); },
           {},
           FormulaRelation::AtMost},
          {"1f1b-bpipe", Q::PeakGrowth, "0: memory is O(P)", "Kim et al. 2023", zero},
          {"1f1b-bpipe",
           Q::Messages,
           "at least 2m(P-1)",
           kCounted,
           loop_messages,
           {},
           FormulaRelation::AtLeast},
          {"seq1f1b",
           Q::Makespan,
           "(m n+P-1)(F+B)/n, n = cuts",
           "Sun et al. 2024",
           [](const At& x) { return Ratio((x.m * x.n + x.P - 1) * x.pass(), x.n); },
           {},
           FormulaRelation::Equals,
           "cuts"},
          {"seq1f1b",
           Q::BubbleOverhead,
           "(P-1)/(m n)",
           "Sun et al. 2024: about 1/k",
           [](const At& x) { return Ratio(x.P - 1, x.m * x.n); },
           {},
           FormulaRelation::Equals,
           "cuts"},
          {"seq1f1b",
           Q::PeakInFlight,
           "min(m n, P-r+n-1) cuts",
           kCounted,
           [](const At& x) { return Ratio(std::min(x.m * x.n, x.P - x.r + x.n - 1)); },
           {},
           FormulaRelation::Equals,
           "cuts"},
          {"seq1f1b",
           Q::Messages,
           "2m n(P-1)",
           kCounted,
           [](const At& x) -> Ratio { return 2 * x.m * x.n * (x.P - 1); },
           {},
           FormulaRelation::Equals,
           "cuts"},
      });
}

Ratio endless_makespan(const At& x) { return (x.m * x.n + x.P - 1) * x.pass(); }

void add_asynchronous(std::vector<FormulaInfo>& list) {
  constexpr std::string_view kPipedream = "Narayanan et al. 2019";
  constexpr std::string_view k2bw = "Narayanan et al. 2021 (2BW)";
  const auto in_flight = [](const At& x) { return Ratio(std::min(x.P - x.r, x.m * x.n)); };
  list.insert(list.end(), {
                              {"pipedream",
                               Q::Makespan,
                               "(m n+P-1)(F+B) for n steps",
                               kPipedream,
                               endless_makespan,
                               {},
                               FormulaRelation::Equals,
                               "steps"},
                              {"pipedream",
                               Q::PeakInFlight,
                               "min(P-r, m n)",
                               kPipedream,
                               in_flight,
                               {},
                               FormulaRelation::Equals,
                               "steps"},
                              {"pipedream", Q::WeightVersions, "P-r", kPipedream,
                               [](const At& x) { return Ratio(x.P - x.r); }},
                              {"pipedream",
                               Q::Messages,
                               "2m n(P-1)",
                               kCounted,
                               [](const At& x) -> Ratio { return 2 * x.m * x.n * (x.P - 1); },
                               {},
                               FormulaRelation::Equals,
                               "steps"},
                              {"pipedream-2bw",
                               Q::Makespan,
                               "(m n+P-1)(F+B) for n steps",
                               k2bw,
                               endless_makespan,
                               {},
                               FormulaRelation::Equals,
                               "steps"},
                              {"pipedream-2bw",
                               Q::PeakInFlight,
                               "min(P-r, m n)",
                               k2bw,
                               in_flight,
                               {},
                               FormulaRelation::Equals,
                               "steps"},
                              {"pipedream-2bw", Q::WeightVersions, "2", k2bw,
                               [](const At&) { return Ratio(2); }},
                              {"pipedream-2bw",
                               Q::Messages,
                               "2m n(P-1)",
                               kCounted,
                               [](const At& x) -> Ratio { return 2 * x.m * x.n * (x.P - 1); },
                               {},
                               FormulaRelation::Equals,
                               "steps"},
                          });
}

void add_forward_only(std::vector<FormulaInfo>& list) {
  list.insert(
      list.end(),
      {
          {"forward-only", Q::Makespan, "(m+P-1)F + (P-1)c", "a pipeline filled once",
           [](const At& x) -> Ratio { return (x.m + x.P - 1) * x.F + (x.P - 1) * x.c; }},
          {"forward-only", Q::BubbleFraction, "(P-1)/(m+P-1)", kGpipe, of_total},
          {"forward-only", Q::PeakInFlight, "1", kCounted, [](const At&) { return Ratio(1); }},
          {"forward-only", Q::Messages, "m(P-1)", kCounted,
           [](const At& x) -> Ratio { return x.m * (x.P - 1); }},
          {"forward-only-interleaved", Q::Makespan, "(m v+P-1)F", "a pipeline filled once",
           [](const At& x) -> Ratio { return (x.m * x.v + x.P - 1) * x.F; }},
          {"forward-only-interleaved", Q::PeakInFlight, "1", kCounted,
           [](const At&) { return Ratio(1); }},
          {"forward-only-interleaved", Q::Messages, "m(P v-1)", kCounted,
           [](const At& x) -> Ratio { return x.m * (x.P * x.v - 1); }},
      });
}

}  // namespace

std::vector<FormulaInfo> known_formulas() {
  std::vector<FormulaInfo> list;
  add_gpipe(list);
  add_1f1b(list);
  add_relatives(list);
  add_looped_formulas(list);
  add_zero_bubble_formulas(list);
  add_v_formulas(list);
  add_two_way_formulas(list);
  add_asynchronous(list);
  add_forward_only(list);
  return list;
}

}  // namespace pipecast

#include <algorithm>

#include "sim/study/formula_lists.hpp"

namespace pipecast {
namespace {

using At = FormulaPoint;
using Q = FormulaQuantity;

constexpr std::string_view kSc21 = "Narayanan et al. 2021 (SC21)";
constexpr std::string_view kMegatron = "Megatron-LM's warm-up count";
constexpr std::string_view kKorthikanti = "Korthikanti et al. 2022; Megatron's memory reference";
constexpr std::string_view kCounted = "counted from the order";
constexpr std::string_view kZeroBubble = "Qi et al. 2024";

/// Microbatches of a round, PyTorch's and our default group.
int round_of(const At& x) { return x.m / std::max(1, x.m / x.P); }

Ratio whole_bubble(const At& x) { return (x.P - 1) * x.pass(); }
Ratio divided_overhead(const At& x) { return Ratio(x.P - 1, std::int64_t{x.m} * x.v); }
Ratio divided_fraction(const At& x) { return Ratio(x.P - 1, std::int64_t{x.m} * x.v + x.P - 1); }
Ratio loop_messages(const At& x) { return 2 * x.m * (x.P * x.v - 1); }
Ratio zero(const At&) { return 0; }

Ratio interleaved_peak(const At& x) {
  return std::min(x.m * x.v, (x.v - 1) * round_of(x) + 2 * (x.P - 1 - x.r) + 1);
}

void add_interleaved(std::vector<FormulaInfo>& list) {
  list.insert(
      list.end(),
      {
          {"interleaved-1f1b", Q::BubbleOverhead, "(P-1)/(m v)", kSc21, divided_overhead},
          {"interleaved-1f1b", Q::BubbleFraction, "(P-1)/(m v+P-1)", kSc21, divided_fraction},
          {"interleaved-1f1b", Q::Makespan, "(m v+P-1)(F+B), chunk costs", kSc21,
           [](const At& x) -> Ratio { return (x.m * x.v + x.P - 1) * x.pass(); }},
          {"interleaved-1f1b", Q::PeakInFlight,
           "min(m v, (v-1)q+2(P-1-r)+1), q microbatches a round", kMegatron, interleaved_peak},
          {"interleaved-1f1b", Q::MemoryFactor, "1+(P-1)/(P v)", kKorthikanti,
           [](const At& x) { return 1 + Ratio(x.P - 1, std::int64_t{x.P} * x.v); }},
          {"interleaved-1f1b", Q::PeakGrowth, "0: memory is O(P)", kSc21, zero},
          {"interleaved-1f1b", Q::Messages, "2m(P v-1)", kCounted, loop_messages},
          {"interleaved-1f1b", Q::Messages, "2m v(P-1): v times 1F1B's", kSc21,
           [](const At& x) -> Ratio { return 2 * x.m * x.v * (x.P - 1); }},
          {"interleaved-1f1b", Q::Samples, "b m d", "batch arithmetic",
           [](const At& x) -> Ratio { return x.b * x.m * x.d; }},
          {"interleaved-1f1b", Q::Samples, "b m d P: stages counted too", "a mistake in tutorials",
           [](const At& x) -> Ratio { return x.b * x.m * x.d * x.P; }},
      });
}

void add_relatives(std::vector<FormulaInfo>& list) {
  list.insert(
      list.end(),
      {
          {"combined-1f1b", Q::Extra, "(P-1)(F+B) for a pair that costs F+B", kSc21, whole_bubble},
          {"combined-1f1b", Q::PeakInFlight, "one more than interleaved, at most m v", kMegatron,
           [](const At& x) { return std::min(Ratio(x.m * x.v), interleaved_peak(x) + 1); }},
          {"combined-1f1b", Q::Messages, "2m(P v-1)", kCounted, loop_messages},
          {"group-interleaved", Q::Extra, "(P-1)(F+I)", kZeroBubble,
           [](const At& x) -> Ratio { return (x.P - 1) * (x.F + x.I); }},
          {"group-interleaved", Q::PeakInFlight, "(v-1)P+P-r", kCounted,
           [](const At& x) -> Ratio { return (x.v - 1) * x.P + x.P - x.r; }},
          {"group-interleaved", Q::PeakGrowth, "0: memory is O(P)", kCounted, zero},
          {"group-interleaved", Q::Messages, "2m(P v-1)", kCounted, loop_messages},
          {"looped-bfs", Q::BubbleOverhead, "(P-1)/(m v)", "Lamy-Poirier 2022", divided_overhead},
          {"looped-bfs", Q::Extra, "(P-1)(F+B)", "Lamy-Poirier 2022", whole_bubble},
          {"looped-bfs", Q::PeakInFlight, "m v", "Lamy-Poirier 2022",
           [](const At& x) -> Ratio { return x.m * x.v; }},
          {"looped-bfs", Q::PeakGrowth, "m v: memory is O(m)", "Lamy-Poirier 2022",
           [](const At& x) -> Ratio { return x.m * x.v; }},
          {"looped-bfs", Q::Messages, "2m(P v-1)", kCounted, loop_messages},
      });
}

}  // namespace

void add_looped_formulas(std::vector<FormulaInfo>& list) {
  add_interleaved(list);
  add_relatives(list);
}

}  // namespace pipecast

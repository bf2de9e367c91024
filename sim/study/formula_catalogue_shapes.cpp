#include <algorithm>

#include "sim/study/formula_lists.hpp"

namespace pipecast {
namespace {

using At = FormulaPoint;
using Q = FormulaQuantity;

constexpr std::string_view kClaim = "the claim 'zero'";
constexpr std::string_view kCounted = "counted from the order";
constexpr std::string_view kControllable = "Qi et al. 2024 (controllable memory)";
constexpr std::string_view kDeepseek = "DeepSeek-V3's table";
constexpr std::string_view kChimera = "Li and Hoefler 2021";
constexpr std::string_view kHanayo = "Liu et al. 2023 (Hanayo)";

Ratio zero(const At&) { return 0; }
/// The turns of a V or zigzag hand over inside a rank.
Ratio zigzag_messages(const At& x) { return 2 * x.m * x.v * (x.P - 1); }
/// (P/2−1)(F&B + B − 3W); an overlapped pair costs F + B here, B is the whole backward.
Ratio dualpipe_bubble(const At& x) {
  return Ratio(x.P - 2, 2) * Ratio(x.F + x.B() + x.B() - 3 * x.W);
}
/// 1F1B's idle ÷ total, m microbatches of two chunks each.
Ratio x_of_1f1b(const At& x) { return Ratio(x.P - 1, x.m + x.P - 1); }
/// In units of a tick of F = I = W.
Ratio units(const At& x, std::int64_t count) { return count * x.F; }

void add_zbv(std::vector<FormulaInfo>& list) {
  list.insert(list.end(),
              {
                  {"zbv", Q::SpanBubble, "0", kClaim, zero},
                  {"zbv", Q::BubbleFraction, "0", kClaim, zero},
                  {"zbv", Q::Extra, "(P-1)F, chunk costs", kCounted,
                   [](const At& x) -> Ratio { return (x.P - 1) * x.F; }},
                  {"zbv", Q::PeakInFlight, "2P: as much as 1F1B", kControllable,
                   [](const At& x) { return Ratio(2 * x.P); }},
                  {"zbv", Q::MemoryFactor, "1", kControllable, [](const At&) { return Ratio(1); }},
                  {"zbv", Q::Messages, "2m v(P-1)", kCounted, zigzag_messages},
                  {"zb-v-auto", Q::SpanBubble, "0", kClaim, zero},
                  {"zb-v-auto",
                   Q::LargestPeak,
                   "at most 2P (the default limit)",
                   "the search keeps its limit",
                   [](const At& x) { return Ratio(2 * x.P); },
                   {},
                   FormulaRelation::AtMost},
                  {"zb-v-auto", Q::Messages, "2m v(P-1)", kCounted, zigzag_messages},
              });
}

void add_v_half(std::vector<FormulaInfo>& list) {
  list.insert(
      list.end(),
      {
          {"v-half", Q::Extra, "(3P-7)F for even P, (3P-4)F for odd", "the authors' reordering",
           [](const At& x) { return units(x, 3 * x.P - (x.P % 2 == 0 ? 7 : 4)); }},
          {"v-half", Q::Extra, "3P F: about 3 slots a rank", kControllable,
           [](const At& x) { return units(x, 3 * x.P); }},
          {"v-half", Q::SpanBubble, "X/2, X = (P-1)/(m+P-1)", "zero-bubble's README",
           [](const At& x) { return x_of_1f1b(x) / 2; }},
          {"v-half", Q::LargestPeak, "2(P div 2+1)", "the authors' reordering",
           [](const At& x) { return Ratio(2 * (x.P / 2 + 1)); }},
          {"v-half", Q::MemoryFactor, "1/2", kControllable, [](const At&) { return Ratio(1, 2); }},
          {"v-half", Q::MemoryFactor, "1/2 + 1/P", "the authors' reordering",
           [](const At& x) { return Ratio(1, 2) + Ratio(1, x.P); }},
          {"v-half", Q::PeakGrowth, "0: memory is O(P)", kControllable, zero},
          {"v-half", Q::Messages, "2m v(P-1)", kCounted, zigzag_messages},
      });
}

void add_v_min(std::vector<FormulaInfo>& list) {
  list.insert(
      list.end(),
      {
          {"v-min", Q::Extra, "(4P-5)F", "the authors' reordering",
           [](const At& x) { return units(x, 4 * x.P - 5); }},
          {"v-min", Q::Extra, "(4P-7)F if 3 divides P, else (4P-5)F", "the authors' reordering",
           [](const At& x) { return units(x, 4 * x.P - (x.P % 3 == 0 ? 7 : 5)); }},
          {"v-min", Q::SpanBubble, "2X/3, X = (P-1)/(m+P-1)", "zero-bubble's README",
           [](const At& x) { return x_of_1f1b(x) * Ratio(2, 3); }},
          {"v-min", Q::LargestPeak, "2((P+1) div 3+1)", "the authors' reordering",
           [](const At& x) { return Ratio(2 * ((x.P + 1) / 3 + 1)); }},
          {"v-min", Q::MemoryFactor, "1/3", kControllable, [](const At&) { return Ratio(1, 3); }},
          {"v-min", Q::PeakGrowth, "0: memory is O(P)", kControllable, zero},
          {"v-min", Q::Messages, "2m v(P-1)", kCounted, zigzag_messages},
          {"v-1f1b", Q::Extra, "5(P-1)F", "P mod 3 = 1, B = 2F",
           [](const At& x) { return units(x, 5 * (x.P - 1)); }},
          {"v-1f1b", Q::LargestPeak, "2((2P+3) div 3)", "the authors' reordering",
           [](const At& x) { return Ratio(2 * ((2 * x.P + 3) / 3)); }},
          {"v-1f1b", Q::MemoryFactor, "2/3", kControllable, [](const At&) { return Ratio(2, 3); }},
          {"v-1f1b", Q::PeakGrowth, "0: memory is O(P)", kControllable, zero},
          {"v-1f1b", Q::Messages, "2m v(P-1)", kCounted, zigzag_messages},
      });
}

void add_dualpipe_v(std::vector<FormulaInfo>& list) {
  list.insert(list.end(),
              {
                  {"dualpipe-v", Q::Extra, "(P-1)(F&B+B-3W) of chunks, F&B = F+B", kDeepseek,
                   [](const At& x) -> Ratio { return (x.P - 1) * (x.F + 2 * x.B() - 3 * x.W); }},
                  {"dualpipe-v", Q::Extra, "2(P-1)F", kCounted,
                   [](const At& x) -> Ratio { return 2 * (x.P - 1) * x.F; }},
                  {"dualpipe-v", Q::PeakInFlight, "2P+1", kDeepseek,
                   [](const At& x) { return Ratio(2 * x.P + 1); }},
                  {"dualpipe-v", Q::PeakGrowth, "0: memory is O(P)", kDeepseek, zero},
                  {"dualpipe-v", Q::Messages, "2m v(P-1)", kCounted, zigzag_messages},
              });
}

void add_hanayo(std::vector<FormulaInfo>& list) {
  list.insert(list.end(),
              {
                  {"hanayo",
                   Q::Extra,
                   "2(P-1)F, chunk costs",
                   kHanayo,
                   [](const At& x) -> Ratio { return 2 * (x.P - 1) * x.F; },
                   {},
                   FormulaRelation::Equals,
                   "waves"},
                  {"hanayo",
                   Q::BubbleFraction,
                   "(2P-2)/(3P n+P-1), n waves",
                   kHanayo,
                   [](const At& x) { return Ratio(2 * x.P - 2, 3 * x.P * x.n + x.P - 1); },
                   {},
                   FormulaRelation::Equals,
                   "waves"},
                  {"hanayo",
                   Q::BubbleFraction,
                   "(P-1)/(3m n+P-1), n waves",
                   "the same with half of its stages",
                   [](const At& x) { return Ratio(x.P - 1, 3 * x.m * x.n + x.P - 1); },
                   {},
                   FormulaRelation::Equals,
                   "waves"},
                  {"hanayo",
                   Q::PeakInFlight,
                   "2m n-P+1+r",
                   kCounted,
                   [](const At& x) { return Ratio(2 * x.m * x.n - x.P + 1 + x.r); },
                   {},
                   FormulaRelation::Equals,
                   "waves"},
                  {"hanayo",
                   Q::PeakGrowth,
                   "2m n: memory is O(m)",
                   kCounted,
                   [](const At& x) { return Ratio(2 * x.m * x.n); },
                   {},
                   FormulaRelation::Equals,
                   "waves"},
                  {"hanayo",
                   Q::WeightCopies,
                   "1: no second copy",
                   kHanayo,
                   [](const At&) { return Ratio(1); },
                   {},
                   FormulaRelation::Equals,
                   "waves"},
                  {"hanayo",
                   Q::Messages,
                   "2m v(P-1)",
                   kCounted,
                   zigzag_messages,
                   {},
                   FormulaRelation::Equals,
                   "waves"},
              });
}

void add_dualpipe(std::vector<FormulaInfo>& list) {
  list.insert(
      list.end(),
      {
          {"dualpipe", Q::Extra, "(P/2-1)(F&B+B-3W), F&B = F+B", kDeepseek, dualpipe_bubble},
          {"dualpipe", Q::Extra, "(P-2)F", kCounted, [](const At& x) { return units(x, x.P - 2); }},
          {"dualpipe", Q::PeakInFlight, "P+1", kDeepseek,
           [](const At& x) { return Ratio(x.P + 1); }},
          {"dualpipe", Q::PeakGrowth, "0: memory is O(P)", kDeepseek, zero},
          {"dualpipe", Q::WeightCopies, "2", kDeepseek, [](const At&) { return Ratio(2); }},
          {"dualpipe", Q::Messages, "2m(P-1)", kCounted, zigzag_messages},
      });
}

/// Pipelines are P/n deep in effect.
void add_chimera(std::vector<FormulaInfo>& list) {
  list.insert(list.end(),
              {
                  {"chimera", Q::BubbleFraction, "(P-2)/(2m+P-2)", kChimera,
                   [](const At& x) { return Ratio(x.P - 2, 2 * x.m + x.P - 2); }},
                  {"chimera", Q::BubbleFraction, "(P-2)/(3m/2+P-2)", "Li and Hoefler 2021, B = 2F",
                   [](const At& x) { return Ratio(x.P - 2) / (Ratio(3 * x.m, 2) + (x.P - 2)); }},
                  {"chimera",
                   Q::Extra,
                   "(P/n-2)F, n pairs",
                   kChimera,
                   [](const At& x) { return (Ratio(x.P, x.n) - 2) * Ratio(x.F); },
                   {},
                   FormulaRelation::Equals,
                   "pairs"},
                  {"chimera", Q::Extra, "(m/P+1)(P-2)F", "middle bubbles of B = 2F",
                   [](const At& x) { return (Ratio(x.m, x.P) + 1) * Ratio((x.P - 2) * x.F); }},
                  {"chimera", Q::PeakInFlight, "P/2+1+min(r, P-1-r)", kCounted,
                   [](const At& x) { return Ratio(x.P / 2 + 1 + std::min(x.r, x.P - 1 - x.r)); }},
                  {"chimera",
                   Q::LargestPeak,
                   "at most P",
                   kChimera,
                   [](const At& x) { return Ratio(x.P); },
                   {},
                   FormulaRelation::AtMost},
                  {"chimera", Q::PeakGrowth, "0: memory is O(P)", kChimera, zero},
                  {"chimera",
                   Q::WeightCopies,
                   "2n, n pairs",
                   kChimera,
                   [](const At& x) { return Ratio(2 * x.n); },
                   {},
                   FormulaRelation::Equals,
                   "pairs"},
                  {"chimera", Q::Messages, "2m(P-1)", kCounted, zigzag_messages},
              });
}

}  // namespace

void add_v_formulas(std::vector<FormulaInfo>& list) {
  add_zbv(list);
  add_v_half(list);
  add_v_min(list);
  add_dualpipe_v(list);
  add_hanayo(list);
}

void add_two_way_formulas(std::vector<FormulaInfo>& list) {
  add_dualpipe(list);
  add_chimera(list);
}

}  // namespace pipecast

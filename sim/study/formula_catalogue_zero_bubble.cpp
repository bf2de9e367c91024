#include <algorithm>

#include "sim/study/formula_lists.hpp"

namespace pipecast {
namespace {

using At = FormulaPoint;
using Q = FormulaQuantity;

constexpr std::string_view kZeroBubble = "Qi et al. 2024 (zero bubble)";
constexpr std::string_view kReadme = "zero-bubble's README, for F = B = W";
constexpr std::string_view kClaim = "the claim 'zero'";
constexpr std::string_view kCounted = "counted from the order";

int round_of(const At& x) { return x.m / std::max(1, x.m / x.P); }

Ratio zero(const At&) { return 0; }
Ratio messages(const At& x) { return 2 * x.m * (x.P * x.v - 1); }
Ratio h1_bubble(const At& x) { return (x.P - 1) * (x.F + x.I - x.W); }
Ratio h2_bubble(const At& x) { return (x.P - 1) * (x.F + x.I - 2 * x.W); }
/// DeepSeek-V3's table writes B for the whole backward.
Ratio zb1p_bubble(const At& x) { return (x.P - 1) * (x.F + x.B() - 2 * x.W); }
/// A third of 1F1B's idle ÷ total.
Ratio third_of_1f1b(const At& x) { return Ratio(x.P - 1, 3 * (x.m + x.P - 1)); }

void add_h1(std::vector<FormulaInfo>& list) {
  list.insert(
      list.end(),
      {
          {"zb-h1", Q::Extra, "(P-1)(F+I-W)", kZeroBubble, h1_bubble},
          {"zb-h1", Q::ExtraSpan, "(P-1)(F+I-W)", kZeroBubble, h1_bubble},
          {"zb-h1", Q::Extra, "(P-1)(F+B-2W), B whole", "ZB1P in DeepSeek-V3's table", zb1p_bubble},
          {"zb-h1", Q::Extra, "(P-1)(F+I-W) + 4(P-1)c", "Qi et al. 2024, efficiency.py",
           [](const At& x) { return h1_bubble(x) + Ratio(4 * (x.P - 1) * x.c); }},
          {"zb-h1", Q::BubbleFraction, "X/3, X = (P-1)/(m+P-1)", kReadme, third_of_1f1b},
          {"zb-h1", Q::PeakInFlight, "P", kZeroBubble, [](const At& x) { return Ratio(x.P); }},
          {"zb-h1", Q::PeakAtInput, "P-r", kZeroBubble,
           [](const At& x) { return Ratio(x.P - x.r); }},
          {"zb-h1", Q::PeakGrowth, "0: memory is O(P)", kZeroBubble, zero},
          {"zb-h1", Q::Messages, "2m(P-1)", kCounted, messages},
      });
}

void add_h2(std::vector<FormulaInfo>& list) {
  list.insert(list.end(), {
                              {"zb-h2", Q::Makespan, "the makespan of zb-h1",
                               "folklore: H2 only helps the span", nullptr, "zb-h1"},
                              {"zb-h2", Q::ExtraSpan, "the span of zb-h1 - work", "its opposite",
                               nullptr, "zb-h1"},
                              {"zb-h2", Q::ExtraSpan, "(P-1)(F+I-2W)", kZeroBubble, h2_bubble},
                              {"zb-h2", Q::SpanBubble, "0", kClaim, zero},
                              {"zb-h2", Q::BubbleFraction, "0", kClaim, zero},
                              {"zb-h2", Q::Extra, "(P-1)F", "every rank ends r late",
                               [](const At& x) -> Ratio { return (x.P - 1) * x.F; }},
                              {"zb-h2", Q::PeakInFlight, "2P-1", kZeroBubble,
                               [](const At& x) { return Ratio(2 * x.P - 1); }},
                              {"zb-h2", Q::PeakAtInput, "2P-2r-1", kZeroBubble,
                               [](const At& x) { return Ratio(2 * x.P - 2 * x.r - 1); }},
                              {"zb-h2", Q::PeakGrowth, "0: memory is O(P)", kZeroBubble, zero},
                              {"zb-h2", Q::Messages, "2m(P-1)", kCounted, messages},
                          });
}

void add_interleaved_zb(std::vector<FormulaInfo>& list) {
  list.insert(
      list.end(),
      {
          {"interleaved-zb", Q::Extra, "(P-1)(F+I-W)", kZeroBubble, h1_bubble},
          {"interleaved-zb", Q::Extra, "(P-1)(F+B-2W), B whole", "ZB1P in DeepSeek-V3's table",
           zb1p_bubble},
          {"interleaved-zb", Q::PeakInFlight, "(v-1)q+P, at most m v", kCounted,
           [](const At& x) { return Ratio(std::min(x.m * x.v, (x.v - 1) * round_of(x) + x.P)); }},
          {"interleaved-zb", Q::PeakAtInput, "(v-1)q+P-r, at most m v", kCounted,
           [](const At& x) {
             return Ratio(std::min(x.m * x.v, (x.v - 1) * round_of(x) + x.P - x.r));
           }},
          {"interleaved-zb", Q::Messages, "2m(P v-1)", kCounted, messages},
      });
}

/// m(F+I+W) + max(0, (P-1)(I+2c) + (P-k)F) with k = P forwards before the first backward.
Ratio span_bound(const At& x) { return (x.P - 1) * (x.I + 2 * x.c); }

void add_auto(std::vector<FormulaInfo>& list) {
  list.insert(list.end(), {
                              {"zb-auto",
                               Q::ExtraSpan,
                               "at least (P-1)(I+2c) with P activations",
                               kZeroBubble,
                               span_bound,
                               {},
                               FormulaRelation::AtLeast},
                              {"zb-auto", Q::ExtraSpan, "at most that of zb-h1", kZeroBubble,
                               nullptr, "zb-h1", FormulaRelation::AtMost},
                              {"zb-auto", Q::SpanBubble, "0", kClaim, zero},
                              {"zb-auto",
                               Q::LargestPeak,
                               "at most P (the default limit)",
                               "the search keeps its limit",
                               [](const At& x) { return Ratio(x.P); },
                               {},
                               FormulaRelation::AtMost},
                              {"zb-auto", Q::Messages, "2m(P-1)", kCounted, messages},
                          });
}

}  // namespace

void add_zero_bubble_formulas(std::vector<FormulaInfo>& list) {
  add_h1(list);
  add_h2(list);
  add_interleaved_zb(list);
  add_auto(list);
}

}  // namespace pipecast

#include "sim/study/formula_condition.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

namespace pipecast {
namespace {

struct Fact {
  std::string_view text;
  bool (*is_true)(const FormulaPoint&);
};

using At = FormulaPoint;

/// Most telling first: it wins a tie.
constexpr std::array kFacts = {
    Fact{"c = 0", [](const At& x) { return x.c == 0; }},
    Fact{"F = I = W", [](const At& x) { return x.F == x.I && x.I == x.W; }},
    Fact{"F = B", [](const At& x) { return x.F == x.B(); }},
    Fact{"B = 2F", [](const At& x) { return x.B() == 2 * x.F; }},
    Fact{"W <= I", [](const At& x) { return x.W <= x.I; }},
    Fact{"W <= F", [](const At& x) { return x.W <= x.F; }},
    Fact{"F = I", [](const At& x) { return x.F == x.I; }},
    Fact{"I <= F", [](const At& x) { return x.I <= x.F; }},
    Fact{"I >= F", [](const At& x) { return x.I >= x.F; }},
    Fact{"W = 0", [](const At& x) { return x.W == 0; }},
    Fact{"2c <= F + B", [](const At& x) { return 2 * x.c <= x.pass(); }},
    Fact{"2c <= W", [](const At& x) { return 2 * x.c <= x.W; }},
    Fact{"m >= P", [](const At& x) { return x.m >= x.P; }},
    Fact{"m >= 2P - 1", [](const At& x) { return x.m >= 2 * x.P - 1; }},
    Fact{"m >= 2P", [](const At& x) { return x.m >= 2 * x.P; }},
    Fact{"m >= 2P + 1", [](const At& x) { return x.m >= 2 * x.P + 1; }},
    Fact{"m <= P", [](const At& x) { return x.m <= x.P; }},
    Fact{"m = P", [](const At& x) { return x.m == x.P; }},
    Fact{"m is a multiple of P", [](const At& x) { return x.m % x.P == 0; }},
    Fact{"m is even", [](const At& x) { return x.m % 2 == 0; }},
    Fact{"P is even", [](const At& x) { return x.P % 2 == 0; }},
    Fact{"P is odd", [](const At& x) { return x.P % 2 == 1; }},
    Fact{"P >= 3", [](const At& x) { return x.P >= 3; }},
    Fact{"P >= 4", [](const At& x) { return x.P >= 4; }},
    Fact{"P mod 3 = 0", [](const At& x) { return x.P % 3 == 0; }},
    Fact{"P mod 3 = 1", [](const At& x) { return x.P % 3 == 1; }},
    Fact{"P mod 3 = 2", [](const At& x) { return x.P % 3 == 2; }},
    Fact{"v = 1", [](const At& x) { return x.v == 1; }},
    Fact{"v >= 2", [](const At& x) { return x.v >= 2; }},
    Fact{"one pair, wave or cut", [](const At& x) { return x.n == 1; }},
};

using Bits = std::vector<std::uint64_t>;

template <class Predicate>
Bits bits_of(std::span<const JudgedPoint> points, Predicate predicate) {
  Bits bits((points.size() + 63) / 64, 0);
  for (std::size_t i = 0; i < points.size(); ++i)
    if (predicate(points[i])) bits[i / 64] |= std::uint64_t{1} << (i % 64);
  return bits;
}

Bits both(const Bits& a, const Bits& b) {
  Bits result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] & b[i];
  return result;
}

int count(const Bits& bits) {
  int total = 0;
  for (const std::uint64_t word : bits) total += std::popcount(word);
  return total;
}

bool meets(const Bits& a, const Bits& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] & b[i]) != 0) return true;
  return false;
}

using Conjunction = std::vector<std::size_t>;  ///< indices into kFacts
constexpr std::size_t kMostFacts = 4;

/// Depth-first over conjunctions in increasing order of facts: the one that meets no miss and
/// covers most of `wanted`.
class Search {
 public:
  Search(const std::vector<Bits>& facts, const Bits& misses, const Bits& wanted)
      : facts_(facts), misses_(misses), wanted_(wanted) {}

  Conjunction best(const Bits& everywhere) {
    visit(everywhere, 0);
    return best_;
  }
  int covered() const { return covered_; }

 private:
  void visit(const Bits& satisfied, std::size_t next) {
    const int covers = count(both(satisfied, wanted_));
    if (covers < covered_ || covers == 0) return;
    if (!meets(satisfied, misses_)) {
      if (covers > covered_ || chosen_.size() < best_.size()) {
        covered_ = covers;
        best_ = chosen_;
      }
      return;
    }
    if (chosen_.size() == kMostFacts) return;
    for (std::size_t fact = next; fact < facts_.size(); ++fact) {
      chosen_.push_back(fact);
      visit(both(satisfied, facts_[fact]), fact + 1);
      chosen_.pop_back();
    }
  }

  const std::vector<Bits>& facts_;
  const Bits& misses_;
  const Bits& wanted_;
  Conjunction chosen_;
  Conjunction best_;
  int covered_ = 0;
};

std::string text_of(const Conjunction& conjunction) {
  std::string text;
  for (const std::size_t fact : conjunction)
    text += (text.empty() ? "" : " and ") + std::string(kFacts[fact].text);
  return text;
}

/// The first miss that violates `fact` and no other of the conjunction.
const JudgedPoint* miss_without(std::span<const JudgedPoint> points, const Conjunction& conjunction,
                                std::size_t fact) {
  for (const JudgedPoint& point : points) {
    const bool others = std::all_of(conjunction.begin(), conjunction.end(), [&](std::size_t other) {
      return other == fact || kFacts[other].is_true(point.at);
    });
    if (!point.holds && others) return &point;
  }
  return nullptr;
}

std::vector<FormulaNeed> needs_of(std::span<const JudgedPoint> points,
                                  const Conjunction& conjunction) {
  std::vector<FormulaNeed> needs;
  for (const std::size_t fact : conjunction)
    if (const JudgedPoint* point = miss_without(points, conjunction, fact))
      needs.push_back({std::string(kFacts[fact].text), point->miss});
  return needs;
}

Bits without(const Bits& a, const Bits& b) {
  Bits result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] & ~b[i];
  return result;
}

}  // namespace

FormulaCondition weakest_condition(std::span<const JudgedPoint> points) {
  const auto bits = [&](auto predicate) { return bits_of(points, predicate); };
  const Bits everywhere = bits([](const JudgedPoint&) { return true; });
  const Bits misses = bits([](const JudgedPoint& point) { return !point.holds; });
  Bits wanted = without(everywhere, misses);
  const int holding = count(wanted);
  std::vector<Bits> facts;
  for (const Fact& fact : kFacts)
    facts.push_back(bits([&](const JudgedPoint& point) { return fact.is_true(point.at); }));
  FormulaCondition condition;
  for (int term = 0; term < 3 && meets(wanted, wanted); ++term) {
    Search search(facts, misses, wanted);
    const Conjunction best = search.best(everywhere);
    if (search.covered() < 6 || search.covered() * 12 < holding) break;
    condition.text += (term == 0 ? "" : "; or ") + text_of(best);
    if (term == 0) condition.needs = needs_of(points, best);
    condition.covered += search.covered();
    Bits satisfied = everywhere;
    for (const std::size_t fact : best) satisfied = both(satisfied, facts[fact]);
    wanted = without(wanted, satisfied);
  }
  return condition;
}

}  // namespace pipecast

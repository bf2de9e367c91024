#pragma once
#include <span>
#include <string>
#include <vector>

#include "sim/study/formulas.hpp"

namespace pipecast {

/// A point, whether the form holds there, and if not the two values.
struct JudgedPoint {
  FormulaPoint at;
  bool holds = false;
  FormulaMiss miss;
};

/// Under what the form holds.
struct FormulaCondition {
  std::string text;                ///< `c = 0 and m >= P`, several joined by `; or `; empty: none
  int covered = 0;                 ///< points that satisfy it; the form holds at all of them
  std::vector<FormulaNeed> needs;  ///< of the first conjunction
};

/// Conjunctions of at most four facts about costs and shape (`c = 0`, `F = I = W`, `m >= P` …)
/// under which the form holds at every point. The first is the weakest: the one that most points
/// satisfy; ties go to fewer facts, then to the order of the list. Up to two more are added that
/// cover most of what is left. One that covers fewer than six new points, or less than a twelfth of
/// the points at which the form holds, is chance and no condition. O(facts⁴ × points / 64), much
/// less in practice.
FormulaCondition weakest_condition(std::span<const JudgedPoint> points);

}  // namespace pipecast

#pragma once
#include <vector>

#include "sim/study/formulas.hpp"

/// The parts of known_formulas(), by family of schedules.
namespace pipecast {

/// interleaved, combined, group-interleaved, breadth-first.
void add_looped_formulas(std::vector<FormulaInfo>& list);
/// zb-h1, zb-h2, interleaved-zb, zb-auto.
void add_zero_bubble_formulas(std::vector<FormulaInfo>& list);
/// zbv, zb-v-auto, v-half, v-min, v-1f1b, dualpipe-v, hanayo.
void add_v_formulas(std::vector<FormulaInfo>& list);
/// dualpipe, chimera.
void add_two_way_formulas(std::vector<FormulaInfo>& list);

}  // namespace pipecast

#pragma once
#include <string>
#include <vector>

#include "sim/study/measured_compare.hpp"

/// How the text and the page of an import name things; once for both.
namespace pipecast {

/// `-1.40 %`
std::string signed_percent(double fraction);
/// `-1.2 ms`; below a nanosecond 0.
std::string signed_time(double seconds);
/// `forward`, `backward`, `backward, input`, `backward, weight`.
std::string_view kind_word(OpKind kind);

/// `3 steps, 8 ranks, 1 chunk per rank, 16 microbatches, order: 1f1b`
std::string run_words(const ImportReport& report);
/// `from the steps before`
std::string prediction_source(const MeasuredComparison& comparison);
/// `every operation at its fastest, nothing else`
std::string ideal_meaning(const MeasuredComparison& comparison);

/// A part of the measured step; the parts add up to it.
struct ExcessPart {
  std::string name;
  std::string meaning;
  double seconds = 0;
};
std::vector<ExcessPart> excess_parts(const MeasuredComparison& comparison);

/// What a sort of excess comes to: `overshoot of a forward`, `gap from forward to backward`.
struct ExcessLine {
  std::string name;
  Percentiles values;
};
std::vector<ExcessLine> excess_lines(const MeasuredExcess& excess);

}  // namespace pipecast

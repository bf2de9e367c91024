#pragma once
#include <cstdint>
#include <string>

#include "sim/read/study.hpp"

namespace pipecast {

/// The last word of a key path: `workload.parallel.tensor` → `tensor`.
std::string short_key(const std::string& key);

/// What a candidate varies, in one line: `schedule zb-h1, ranks 64, chunks 1`.
std::string candidate_text(const Study& study, std::int64_t candidate);

/// The same behind the name of its cluster; empty where nothing has a name and nothing varies.
std::string named_candidate(const Study& study, std::int64_t candidate);

/// Four digits, without an exponent where that reads better: `385700`, `3.532`, `1.2e+12`;
/// `unknown` is what stands for a figure that is none.
std::string figure_text(double value, const char* unknown);

}  // namespace pipecast

#pragma once
#include <string>

#include "sim/base/diagnostic.hpp"
#include "sim/report/run_view.hpp"

namespace pipecast {

/// Nothing, or that ranks need more than their device has: how many, and which misses most. A
/// model's ranks need what their parts add up to, buffers and allowances included. `platform` is
/// where the machine was chosen.
Diagnostics does_not_fit(const RunView& run, const SourceSpan& platform);

/// The fullest rank beside what its device has: `yes, 70 GiB of 80 GiB`, or why nobody knows.
std::string memory_verdict(const RunView& run);

}  // namespace pipecast

#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/read/study.hpp"

namespace pipecast {

/// Which cluster and which entry of every axis a candidate takes. Axes of the study come first,
/// then the cluster's own. The last axis varies fastest, the cluster slowest.
struct CandidateChoice {
  std::size_t cluster = 0;
  std::vector<std::size_t> entries;

  bool operator==(const CandidateChoice&) const = default;
};

/// The axes that apply to a cluster, in the order of CandidateChoice::entries.
std::vector<const Axis*> axes_of(const Study& study, std::size_t cluster);

/// Candidate `index` of [0, study.candidates()). O(axes).
CandidateChoice choice_of(const Study& study, std::int64_t index);

/// Puts the cluster's settings and the axes' values into a copy of the base scenario's tree.
/// Faults: a key path that does not fit the tree.
Diagnostics apply(const Study& study, const CandidateChoice& choice, YamlDocument& document);

/// Every key that some axis varies, in the order of the file: the columns of a table of candidates.
std::vector<std::string> varied_keys(const Study& study);
/// The value of each of varied_keys() in the candidate; empty where its cluster does not vary it.
std::vector<std::string> varied_values(const Study& study, const CandidateChoice& choice);

/// Estimate of what a candidate costs to simulate, in operations: ranks × chunks × microbatches as
/// far as the tree says them. Only for cutting a study into even parts.
double estimated_work(const Study& study, const CandidateChoice& choice);

}  // namespace pipecast

#include "sim/study/candidate_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/read/study_candidate.hpp"

namespace pipecast {

std::string short_key(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::string candidate_text(const Study& study, std::int64_t candidate) {
  const std::vector<std::string> keys = varied_keys(study);
  const auto values = varied_values(study, choice_of(study, candidate));
  std::string text;
  for (std::size_t k = 0; k < keys.size(); ++k)
    if (!values[k].empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", short_key(keys[k]), values[k]);
  return text;
}

std::string named_candidate(const Study& study, std::int64_t candidate) {
  const std::string& cluster = study.clusters[choice_of(study, candidate).cluster].name;
  const std::string varied = candidate_text(study, candidate);
  return cluster + (cluster.empty() || varied.empty() ? "" : ", ") + varied;
}

std::string figure_text(double value, const char* unknown) {
  if (!std::isfinite(value)) return unknown;
  const double magnitude = std::abs(value);
  if (magnitude < 1e4 || magnitude >= 1e9) return fmt::format("{:.4g}", value);
  const double step = std::pow(10, std::floor(std::log10(magnitude)) - 3);
  return fmt::format("{:.0f}", std::round(value / step) * step);
}

}  // namespace pipecast

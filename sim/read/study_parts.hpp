#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/read/study.hpp"
#include "sim/read/yaml_cursor.hpp"

/// The blocks of a study, one reader each. All of them report what is wrong and go on.
namespace pipecast {

/// `axes:` a map from a key path, or several with commas between, to a list, `{range: …}` or
/// `{powers_of_two: …}`.
std::vector<Axis> read_axes(const YamlCursor& axes);

/// `set:` a map from key paths to values.
std::vector<std::pair<std::string, YamlNode>> read_settings(const YamlCursor& settings);

/// A key path has the form `word.word.3`; anything else is a fault at the key.
bool good_key_path(const YamlCursor& at, std::string_view path);

std::vector<QuotedCluster> read_clusters(const YamlCursor& clusters);
Quote read_quote(const YamlCursor& quote);

std::vector<Objective> read_objectives(const YamlCursor& objectives);
Constraints read_constraints(const YamlCursor& constraints);
Training read_training(const YamlCursor& training);
Refinement read_refinement(const YamlCursor& simgrid);
Sampling read_sampling(const YamlCursor& uncertainty);

/// What one number of a study may be.
struct AmountRule {
  std::string_view name;
  Dimension dimension = Dimension::None;
  double minimum = 0;
  double maximum = 0;
  std::string_view help;
};
/// A value, or where ranges are allowed `[low, high]`; faults name the bounds.
std::optional<double> read_amount(const YamlCursor& given, const AmountRule& rule);
std::optional<Uncertain> read_uncertain(const YamlCursor& given, const AmountRule& rule);

/// `90 days`, `4 years`, `36 hours`, in hours.
std::optional<double> read_hours(const YamlCursor& given);

}  // namespace pipecast

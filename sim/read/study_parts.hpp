#pragma once
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/read/study.hpp"
#include "sim/read/yaml_cursor.hpp"

/// The blocks of a study, one reader each. All of them report what is wrong and go on.
namespace pipecast {

/// `axes:` a map from a key path, or several with commas between, to a list, `{range: …}` or
/// `{powers_of_two: …}`. A key that an axis of `before`, or an earlier one here, varies is a fault.
std::vector<Axis> read_axes(const YamlCursor& axes, std::span<const Axis> before = {});

/// The values of one axis: a list, `{range: …}` or `{powers_of_two: …}`.
std::vector<YamlNode> read_values(const YamlCursor& given);

/// `a.b, c` → `a.b` and `c`.
std::vector<std::string> split_keys(std::string_view text);

/// `set:` a map from key paths to values.
std::vector<std::pair<std::string, YamlNode>> read_settings(const YamlCursor& settings);

/// A key path has the form `word.word.3`; anything else is a fault at the key.
bool good_key_path(const YamlCursor& at, std::string_view path);

/// `axes` are those of the study, which every cluster has.
std::vector<QuotedCluster> read_clusters(const YamlCursor& clusters,
                                         std::span<const ScheduleInfo> schedules,
                                         std::span<const Axis> axes);
Quote read_quote(const YamlCursor& quote);

/// `layouts:` the word `search`, or bounds of what is searched.
LayoutBounds read_layouts(const YamlCursor& layouts, std::span<const ScheduleInfo> schedules);

/// Axes of a study that searches layouts may not vary what is searched.
void refuse_searched_keys(const YamlCursor& axes);

/// Gives each cluster with bounds one axis of all its layouts. Axes on which these hang (batch,
/// sequence, model, platform) become part of it. A cluster for which nothing divides is left
/// without candidates; when all are, that is a fault. The context must have a cache.
void add_layout_axes(Study& study, const ReadContext& context, FaultList& faults);

std::vector<Objective> read_objectives(const YamlCursor& objectives);
Constraints read_constraints(const YamlCursor& constraints);
Training read_training(const YamlCursor& training);
Refinement read_refinement(const YamlCursor& simgrid);
Sampling read_sampling(const YamlCursor& uncertainty);

/// Objectives and constraints whose figure no candidate will have, because the study gives no
/// price, power, tokens or budget of tokens to compute it from: a fault each, at its place.
void check_needs(const YamlCursor& root, const Study& study);

/// A name or a remark for tables: one line that is not empty.
std::string read_line(const YamlCursor& given);

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

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/read/study_parts.hpp"

namespace pipecast {
namespace {

/// `4 MiB` → 4 and "MiB": what a range counts, and what stands behind each of its values.
struct Counted {
  double number = 0;
  std::string unit;
};

std::optional<Counted> counted(const YamlCursor& given) {
  const auto word = given.text();
  if (!word) return std::nullopt;
  const std::size_t end = word->find_first_not_of("0123456789.+-eE");
  std::string_view digits = std::string_view(*word).substr(0, end);
  // The e of `1e9` is part of the number, that of `1 each` is not reached: a blank ends it.
  const auto number = parse_number(digits);
  if (!number) {
    given.fault(fmt::format("{}: {}", given.path(), number.error()), "such as 8 or 4 MiB");
    return std::nullopt;
  }
  std::string unit = end == std::string::npos ? std::string{} : word->substr(end);
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size()
                                                                 : unit.find_first_not_of(' '));
  return Counted{*number, std::move(unit)};
}

YamlNode scalar(const Counted& value, const YamlMark& mark) {
  YamlNode node;
  node.kind = YamlKind::Scalar;
  node.mark = mark;
  node.text = format_number(value.number);
  if (!value.unit.empty()) node.text += " " + value.unit;
  return node;
}

bool same_unit(const YamlCursor& list, const std::vector<Counted>& ends) {
  if (std::all_of(ends.begin(), ends.end(),
                  [&](const Counted& end) { return end.unit == ends.front().unit; }))
    return true;
  list.fault(fmt::format("{} mixes units; give its values in one unit", list.path()));
  return false;
}

std::optional<std::vector<Counted>> read_ends(const YamlCursor& list, std::size_t least,
                                              std::size_t most) {
  if (!list.is_list() || list.size() < least || list.size() > most) {
    list.fault(fmt::format(
        "{} must be a list of {}", list.path(),
        least == most ? "two values: from, to" : "two or three values: from, to, step"));
    return std::nullopt;
  }
  std::vector<Counted> ends;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (auto value = counted(list.item(i))) ends.push_back(std::move(*value));
  if (ends.size() != list.size() || !same_unit(list, ends)) return std::nullopt;
  return ends;
}

/// Counting in whole steps from the start keeps rounding from adding up.
std::vector<YamlNode> read_range(const YamlCursor& list) {
  const auto ends = read_ends(list, 2, 3);
  if (!ends) return {};
  const double from = (*ends)[0].number;
  const double to = (*ends)[1].number;
  const double step = ends->size() == 3 ? (*ends)[2].number : 1;
  if (!(step > 0) || to < from) {
    list.fault(fmt::format("{} is empty", list.path()), "from ≤ to, step > 0");
    return {};
  }
  const double steps = std::floor((to - from) / step * (1 + 1e-12));
  if (steps >= static_cast<double>(kMaxAxisEntries)) {
    list.fault(fmt::format("{} has more than {} values", list.path(), kMaxAxisEntries));
    return {};
  }
  std::vector<YamlNode> values;
  for (int i = 0; i <= static_cast<int>(steps); ++i)
    values.push_back(scalar({from + i * step, ends->front().unit}, list.node().mark));
  return values;
}

bool is_power_of_two(double number) {
  int exponent = 0;
  return std::frexp(number, &exponent) == 0.5;
}

std::vector<YamlNode> read_powers(const YamlCursor& list) {
  const auto ends = read_ends(list, 2, 2);
  if (!ends) return {};
  const double from = (*ends)[0].number;
  const double to = (*ends)[1].number;
  if (!is_power_of_two(from) || !is_power_of_two(to) || to < from) {
    list.fault(fmt::format("{} must run from one power of two up to another", list.path()),
               "such as [1, 64]");
    return {};
  }
  std::vector<YamlNode> values;
  for (double value = from; value <= to; value *= 2)
    values.push_back(scalar({value, ends->front().unit}, list.node().mark));
  return values;
}

/// Entries of keys that change together: a list of lists, one value per key.
void read_linked(const YamlCursor& given, Axis& axis) {
  if (!given.is_list() || given.size() == 0 || given.size() > kMaxAxisEntries) {
    given.fault(fmt::format("{} keys change together; give a list of lists with {} values each",
                            axis.keys.size(), axis.keys.size()));
    return;
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const YamlCursor entry = given.item(i);
    if (entry.is_list() && entry.size() == axis.keys.size())
      axis.entries.push_back(entry.node().items);
    else
      entry.fault(fmt::format("an entry of this axis is a list of {} values, one for each of {}",
                              axis.keys.size(), fmt::join(axis.keys, ", ")));
  }
}

}  // namespace

std::vector<YamlNode> read_values(const YamlCursor& given) {
  if (given.is_list()) {
    std::vector<YamlNode> values;
    if (given.size() > kMaxAxisEntries)
      given.fault(fmt::format("{} has {} values; at most {} are allowed", given.path(),
                              given.size(), kMaxAxisEntries));
    else
      values = given.node().items;
    if (given.size() == 0) given.fault(fmt::format("{} has no values", given.path()));
    return values;
  }
  if (!given.is_map()) {
    given.fault(
        fmt::format("{} is a single value; an axis is a list, {{range: …}} or "
                    "{{powers_of_two: …}}",
                    given.path()));
    return {};
  }
  if (!given.expect_map({"range", "powers_of_two"})) return {};
  if (given.size() != 1) {
    given.fault(fmt::format("{} takes one of range and powers_of_two", given.path()));
    return {};
  }
  if (const auto range = given.find("range")) return read_range(*range);
  if (const auto powers = given.find("powers_of_two")) return read_powers(*powers);
  return {};
}

std::vector<std::string> split_keys(std::string_view text) {
  std::vector<std::string> keys;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    keys.emplace_back(part);
    if (comma == std::string_view::npos) return keys;
    text.remove_prefix(comma + 1);
  }
}

namespace {

/// A value that a later axis sets again would be varied in vain.
bool is_free(const YamlCursor& given, const Axis& axis, std::span<const Axis> before) {
  for (const Axis& other : before)
    for (const std::string& taken : other.keys)
      for (const std::string& key : axis.keys) {
        if (key == taken)
          given.fault_at_key(fmt::format("another axis varies '{}' already", key),
                             "keys that change together are one axis: 'a, b: [[1, 2], [3, 4]]'");
        else if (taken.starts_with(key + "."))
          given.fault_at_key(
              fmt::format("'{}' would replace '{}', which another axis varies", key, taken),
              "put the axis of the whole before that of its part");
        else
          continue;
        return false;
      }
  return true;
}

}  // namespace

bool good_key_path(const YamlCursor& at, std::string_view path) {
  const bool good = !path.empty() && path.front() != '.' && path.back() != '.' &&
                    path.find("..") == std::string_view::npos &&
                    path.find_first_of(" \t\n,=") == std::string_view::npos;
  if (!good)
    at.fault_at_key(fmt::format("'{}' is not a key path", shown(path)),
                    "such as pipeline.microbatches or workload.costs.forward");
  return good;
}

std::vector<Axis> read_axes(const YamlCursor& axes, std::span<const Axis> before) {
  std::vector<Axis> result;
  if (!axes.is_map()) {
    axes.fault(fmt::format("{} must be a map from key paths to values", axes.path()),
               "pipeline.microbatches: [8, 16, 32]");
    return result;
  }
  if (axes.size() > kMaxAxes) {
    axes.fault(fmt::format("{} axes; at most {} are allowed", axes.size(), kMaxAxes));
    return result;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const YamlCursor given = axes.children()[i];
    Axis axis;
    axis.keys = split_keys(axes.node().entries[i].key);
    axis.mark = axes.node().entries[i].mark;
    bool good = true;
    for (const std::string& key : axis.keys) good = good_key_path(given, key) && good;
    if (!good || !is_free(given, axis, before) || !is_free(given, axis, result)) continue;
    if (axis.keys.size() > 1)
      read_linked(given, axis);
    else
      for (YamlNode& value : read_values(given)) axis.entries.push_back({std::move(value)});
    result.push_back(std::move(axis));
  }
  return result;
}

std::vector<std::pair<std::string, YamlNode>> read_settings(const YamlCursor& settings) {
  std::vector<std::pair<std::string, YamlNode>> result;
  if (!settings.is_map()) {
    settings.fault(fmt::format("{} must be a map from key paths to values", settings.path()),
                   "set: {transfers: fifo}");
    return result;
  }
  const std::vector<YamlCursor> values = settings.children();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const std::string& key = settings.node().entries[i].key; good_key_path(values[i], key))
      result.emplace_back(key, values[i].node());
  return result;
}

}  // namespace pipecast

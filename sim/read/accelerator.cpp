#include "sim/read/accelerator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/read/yaml_cursor.hpp"

namespace pipecast {
namespace {

std::optional<double> quantity(const YamlCursor& node, Dimension dimension) {
  const auto text = node.text();
  if (!text) return std::nullopt;
  const auto number = parse_quantity(*text, dimension);
  if (number) return *number;
  node.fault(number.error());
  return std::nullopt;
}

std::string optional_text(const YamlCursor& map, std::string_view key) {
  const auto given = map.find(key);
  return given ? given->text().value_or("") : std::string{};
}

std::string required_text(const YamlCursor& map, std::string_view key) {
  const auto given = map.require(key);
  return given ? given->text().value_or("") : std::string{};
}

Certainty required_certainty(const YamlCursor& map) {
  const auto given = map.require("certainty");
  const std::vector<std::string> words(kCertaintyWords.begin(), kCertaintyWords.end());
  const auto word = given ? given->choice(words) : std::nullopt;
  if (!word) return Certainty::Memory;
  const auto found = std::find(words.begin(), words.end(), *word);
  return static_cast<Certainty>(found - words.begin());
}

std::optional<Figure> read_figure(const YamlCursor& node, Dimension dimension) {
  if (!node.expect_map({"value", "source", "certainty", "note"})) return std::nullopt;
  Figure figure;
  const auto value = node.require("value", "a number with its unit, or unknown");
  if (value && value->text() != "unknown") figure.value = quantity(*value, dimension);
  figure.source = required_text(node, "source");
  figure.certainty = required_certainty(node);
  figure.note = optional_text(node, "note");
  return figure;
}

PriceIndication read_price(const YamlCursor& node) {
  PriceIndication price;
  if (!node.expect_map({"what", "low", "high", "date", "source", "certainty", "note"}))
    return price;
  price.what = required_text(node, "what");
  if (const auto low = node.require("low"))
    price.low = {quantity(*low, Dimension::Money).value_or(0)};
  if (const auto high = node.require("high"))
    price.high = {quantity(*high, Dimension::Money).value_or(price.low.value)};
  price.date = required_text(node, "date");
  price.source = required_text(node, "source");
  price.certainty = required_certainty(node);
  price.note = optional_text(node, "note");
  return price;
}

std::vector<std::string> allowed_keys() {
  std::vector<std::string> keys{"name", "vendor", "scale_up", "prices"};
  for (const PropertyInfo& info : property_table()) keys.emplace_back(info.key);
  return keys;
}

std::filesystem::path catalogue(const std::string& folder) {
  return std::filesystem::path(folder) / "accelerators";
}

}  // namespace

Result<Accelerator> read_accelerator(std::string_view text, const std::string& file) {
  const auto document = parse_yaml(text, file);
  if (!document) return fail(document.error());
  FaultList faults;
  const YamlCursor root = YamlCursor::root(*document, faults);
  Accelerator accelerator;
  accelerator.id = std::filesystem::path(file).stem().string();
  accelerator.figures.resize(property_table().size());
  if (!root.expect_map(allowed_keys())) return fail(faults.take(file));
  accelerator.name = required_text(root, "name");
  accelerator.vendor = required_text(root, "vendor");
  accelerator.scale_up = optional_text(root, "scale_up");
  for (const PropertyInfo& info : property_table())
    if (const auto given = root.find(info.key))
      accelerator.figures[static_cast<std::size_t>(info.property)] =
          read_figure(*given, info.dimension);
  if (const auto prices = root.find("prices")) {
    if (!prices->is_list()) prices->fault("prices must be a list");
    for (const YamlCursor& price : prices->children())
      accelerator.prices.push_back(read_price(price));
  }
  if (!faults.empty()) return fail(faults.take(file));
  if (Diagnostics wrong = check(accelerator); !wrong.empty())
    return fail(located(std::move(wrong), root.where()));
  return accelerator;
}

Result<Accelerator> find_accelerator(const std::string& id,
                                     std::span<const std::string> preset_folders) {
  const std::vector<std::string> ids = accelerator_ids(preset_folders);
  if (!std::binary_search(ids.begin(), ids.end(), id))
    return fail(
        input_error(fmt::format("unknown accelerator '{}'", shown(id)),
                    ids.empty() ? "there are none in the preset folders" : suggest(id, ids)));
  for (const std::string& folder : preset_folders) {
    const auto path = catalogue(folder) / (id + ".yaml");
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    const auto text = read_text_file(path.string(), kMaxYamlBytes);
    if (!text) return fail(text.error());
    return read_accelerator(*text, path.string());
  }
  return fail(input_error(fmt::format("accelerator '{}' has just disappeared", shown(id))));
}

Result<std::map<std::string, Accelerator, std::less<>>> accelerators_of(
    const Platform& platform, std::span<const std::string> preset_folders) {
  std::map<std::string, Accelerator, std::less<>> records;
  for (const Device& device : platform.devices) {
    if (device.accelerator.empty() || records.contains(device.accelerator)) continue;
    Result<Accelerator> record = find_accelerator(device.accelerator, preset_folders);
    if (!record) return fail(std::move(record.error()));
    records.emplace(device.accelerator, std::move(*record));
  }
  return records;
}

std::vector<std::string> accelerator_ids(std::span<const std::string> preset_folders) {
  std::set<std::string> ids;
  for (const std::string& folder : preset_folders) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(catalogue(folder), error), end;
         !error && entry != end; entry.increment(error))
      if (entry->path().extension() == ".yaml") ids.insert(entry->path().stem().string());
  }
  return {ids.begin(), ids.end()};
}

}  // namespace pipecast

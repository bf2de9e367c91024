#include "tools/platform_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "sim/read/accelerator.hpp"

namespace pipecast {
namespace {

constexpr double kGibibyte = 1073741824.0;

std::string in_unit(const Result<double>& value, double unit) {
  return value ? format_number(std::round(*value / unit * 10) / 10) : "unknown";
}

std::string value_text(const PropertyInfo& info, double value) {
  switch (info.dimension) {
    case Dimension::Time:
      return format(Seconds{value});
    case Dimension::Memory:
      return fmt::format("{} GiB", format_number(std::round(value / kGibibyte * 1000) / 1000));
    case Dimension::Bandwidth:
      return fmt::format("{} GB/s", format_number(value / 1e9));
    case Dimension::Compute:
      return fmt::format("{} TFLOP/s", format_number(value / 1e12));
    case Dimension::Power:
      return fmt::format("{} W", format_number(value));
    case Dimension::Money:
      return fmt::format("{} USD", format_number(value));
    case Dimension::None:
      return format_number(value);
  }
  return {};
}

std::string with_note(const std::string& source, const std::string& note) {
  if (source.empty() || note.empty()) return source + note;
  return source + "; " + note;
}

std::string price_text(const PriceIndication& price) {
  const std::string low = format_number(price.low.value);
  const std::string amount =
      price.low == price.high ? low : low + " to " + format_number(price.high.value);
  return fmt::format("  {} USD, {}, {} ({}: {})\n", amount, price.what, price.date,
                     word_of(price.certainty), with_note(price.source, price.note));
}

}  // namespace

Result<std::string> accelerator_table(std::span<const std::string> preset_folders) {
  std::string text =
      fmt::format("accelerators\n  {:<26} {:>13} {:>13} {:>12} {:>13} {:>9}\n", "name",
                  "BF16 TFLOP/s", "FP8 TFLOP/s", "memory GiB", "memory GB/s", "scale-up");
  for (const std::string& id : accelerator_ids(preset_folders)) {
    const Result<Accelerator> read = find_accelerator(id, preset_folders);
    if (!read) return fail(read.error());
    const Result<double> reported = known(*read, Property::MemoryReported);
    text += fmt::format("  {:<26} {:>13} {:>13} {:>12} {:>13} {:>9}\n", id,
                        in_unit(known(*read, Property::PeakBf16), 1e12),
                        in_unit(known(*read, Property::PeakFp8), 1e12),
                        reported ? in_unit(reported, kGibibyte)
                                 : in_unit(known(*read, Property::MemoryNominal), kGibibyte) + "*",
                        in_unit(known(*read, Property::MemoryBandwidth), 1e9),
                        in_unit(known(*read, Property::ScaleUpBandwidth), 1e9));
  }
  return text + "  * nominal: what the system reports is not known\n";
}

std::string accelerator_text(const Accelerator& accelerator) {
  std::string text =
      fmt::format("{}: {}, {}\n", accelerator.id, accelerator.name,
                  accelerator.scale_up.empty() ? "no scale-up link named" : accelerator.scale_up);
  std::string silent;
  for (const PropertyInfo& info : property_table()) {
    const auto& figure = accelerator.figures[static_cast<std::size_t>(info.property)];
    if (!figure) {
      silent += fmt::format("{}{}", silent.empty() ? "" : ", ", info.meaning);
      continue;
    }
    text += fmt::format("  {:<40} {:>16}  {:<9}  {}\n", info.meaning,
                        figure->value ? value_text(info, *figure->value) : "unknown",
                        word_of(figure->certainty), with_note(figure->source, figure->note));
  }
  if (!silent.empty()) text += "nothing is said about: " + silent + "\n";
  if (!accelerator.prices.empty()) text += "price indications\n";
  for (const PriceIndication& price : accelerator.prices) text += price_text(price);
  return text;
}

std::string sources_text(const PlatformPreset& preset) {
  std::string text = fmt::format("{}: {}\n", preset.name, preset.description);
  for (const auto& [field, stated] : preset.stated)
    text += fmt::format("  {:<30} {:>18}  {:<9}  {}\n", field, stated.text, stated.certainty,
                        with_note(stated.source, stated.note));
  return text;
}

}  // namespace pipecast

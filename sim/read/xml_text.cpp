#include "sim/read/xml_text.hpp"

#include <fmt/format.h>

namespace pipecast {
namespace {

std::string_view entity(char c) {
  switch (c) {
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '&':
      return "&amp;";
    case '"':
      return "&quot;";
    default:
      return {};
  }
}

std::string tuning_text(const CollectiveTuning& tuning) {
  return fmt::format("{} {} {} {}", format_number(tuning.latency.value),
                     format_number(tuning.achieved), format_number(tuning.half_size.value),
                     tuning.in_switch ? "in-switch" : "at-the-ends");
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const std::string_view name = entity(c);
    if (name.empty())
      result += c;
    else
      result += name;
  }
  return result;
}

std::string xml_head(const Platform& platform, std::string_view routing,
                     std::string_view properties) {
  return fmt::format(
      "<?xml version='1.0'?>\n"
      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\">\n  <zone id=\"{}\" routing=\"{}\">\n{}",
      xml_escaped(platform.name), routing, properties);
}

std::string_view xml_tail() { return "  </zone>\n</platform>\n"; }

std::string xml_property(std::string_view id, std::string_view value) {
  return fmt::format("<prop id=\"{}\" value=\"{}\"/>", id, xml_escaped(value));
}

/// SimGrid reads decimal numbers with a unit; shortest digits read back as the same double.
std::string xml_host(const Device& device, std::string_view speed) {
  std::string props;
  if (!device.accelerator.empty()) props += xml_property("accelerator", device.accelerator);
  if (device.memory.value > 0)
    props += xml_property("memory", fmt::format("{:.0f}", device.memory.value));
  if (device.slowdown != 1) props += xml_property("slowdown", format_number(device.slowdown));
  const std::string head =
      fmt::format("    <host id=\"{}\" speed=\"{}\"", xml_escaped(device.name), xml_escaped(speed));
  return props.empty() ? head + "/>\n" : head + ">" + props + "</host>\n";
}

std::string xml_link(const Link& link) {
  return fmt::format(
      "    <link id=\"{}\" bandwidth=\"{}Bps\" latency=\"{}s\" sharing_policy=\"{}\"/>\n",
      xml_escaped(link.name), format_number(link.bandwidth.value),
      format_number(link.latency.value), link.sharing == Sharing::FatPipe ? "FATPIPE" : "SHARED");
}

std::string xml_route(std::string_view from, std::string_view to,
                      std::span<const std::string_view> links) {
  std::string text = fmt::format("    <route src=\"{}\" dst=\"{}\" symmetrical=\"NO\">",
                                 xml_escaped(from), xml_escaped(to));
  for (const std::string_view link : links)
    text += fmt::format("<link_ctn id=\"{}\"/>", xml_escaped(link));
  return text + "</route>\n";
}

std::string xml_collectives(const Platform& platform) {
  std::string text;
  const CollectiveTuning unfitted;
  if (platform.collectives_inside != unfitted)
    text += "    " + xml_property("collectives inside", tuning_text(platform.collectives_inside)) +
            "\n";
  if (platform.collectives_across != unfitted)
    text += "    " + xml_property("collectives across", tuning_text(platform.collectives_across)) +
            "\n";
  return text;
}

}  // namespace pipecast

#include "sim/read/platform_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/read/text_file.hpp"
#include "sim/read/xml_tree.hpp"
#include "sim/read/xml_zone.hpp"

namespace pipecast {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

/// SimGrid reads decimal numbers with a unit; 17 digits read back as the same double.
std::string host_line(const Device& device, const std::string& speed) {
  std::string props;
  if (!device.accelerator.empty())
    props += fmt::format("<prop id=\"accelerator\" value=\"{}\"/>", escaped(device.accelerator));
  if (device.memory.value > 0)
    props += fmt::format("<prop id=\"memory\" value=\"{:.0f}\"/>", device.memory.value);
  if (device.slowdown != 1)
    props += fmt::format("<prop id=\"slowdown\" value=\"{}\"/>", format_number(device.slowdown));
  const std::string head =
      fmt::format("    <host id=\"{}\" speed=\"{}\"", escaped(device.name), escaped(speed));
  return props.empty() ? head + "/>\n" : head + ">" + props + "</host>\n";
}

std::string link_line(const Link& link) {
  return fmt::format(
      "    <link id=\"{}\" bandwidth=\"{}Bps\" latency=\"{}s\" sharing_policy=\"{}\"/>\n",
      escaped(link.name), format_number(link.bandwidth.value), format_number(link.latency.value),
      link.sharing == Sharing::FatPipe ? "FATPIPE" : "SHARED");
}

void write_routes(std::string& xml, const Platform& platform, std::int32_t from) {
  const auto devices = static_cast<std::int32_t>(platform.devices.size());
  for (std::int32_t to = 0; to < devices; ++to) {
    if (from == to) continue;
    const Result<Route> way = route(platform, {from}, {to});
    if (!way) continue;
    xml += fmt::format("    <route src=\"{}\" dst=\"{}\" symmetrical=\"NO\">",
                       escaped(platform.devices[static_cast<std::size_t>(from)].name),
                       escaped(platform.devices[static_cast<std::size_t>(to)].name));
    for (const LinkId link : way->links)
      xml += fmt::format("<link_ctn id=\"{}\"/>", escaped(platform.links[link.at()].name));
    xml += "</route>\n";
  }
}

}  // namespace

Result<Platform> read_platform_xml(std::string_view text, const std::string& file) {
  if (const auto fault = text_fault(text, file)) return fail(*fault);
  const Result<XmlNode> root = parse_xml(text, file);
  if (!root) return fail(root.error());
  FaultList faults;
  const LinedText lined{std::string(text)};
  const XmlSource source{file, lined, faults};
  Platform platform = read_zones(*root, source);
  platform.name = std::filesystem::path(file).stem().string();
  if (!faults.empty()) return fail(faults.take(file));
  if (Diagnostics wrong = check(platform); !wrong.empty())
    return fail(located(std::move(wrong), source.where(*root)));
  return platform;
}

Result<std::string> write_platform_xml(const Platform& platform, const std::string& speed) {
  if (platform.devices.size() > kMaxExplicitDevices)
    return fail(infeasible(fmt::format(
        "a SimGrid file names every route: platform {} has {} devices, at most {} are written",
        platform.name, platform.devices.size(), kMaxExplicitDevices)));
  std::string xml =
      "<?xml version='1.0'?>\n"
      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\">\n";
  xml += fmt::format("  <zone id=\"{}\" routing=\"Full\">\n", escaped(platform.name));
  for (const Device& device : platform.devices) xml += host_line(device, speed);
  for (const Link& link : platform.links) xml += link_line(link);
  for (std::size_t from = 0; from < platform.devices.size(); ++from)
    write_routes(xml, platform, static_cast<std::int32_t>(from));
  return xml + "  </zone>\n</platform>\n";
}

}  // namespace pipecast

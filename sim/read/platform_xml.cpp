#include "sim/read/platform_xml.hpp"

#include <filesystem>

#include "sim/read/text_file.hpp"
#include "sim/read/xml_text.hpp"
#include "sim/read/xml_tree.hpp"
#include "sim/read/xml_zone.hpp"

namespace pipecast {
namespace {

void write_routes(std::string& xml, const Platform& platform, std::int32_t from) {
  const auto devices = static_cast<std::int32_t>(platform.devices.size());
  for (std::int32_t to = 0; to < devices; ++to) {
    if (from == to) continue;
    const Result<Route> way = route(platform, {from}, {to});
    if (!way) continue;
    std::vector<std::string_view> names;
    for (const LinkId link : way->links) names.push_back(platform.links[link.at()].name);
    xml += xml_route(platform.devices[static_cast<std::size_t>(from)].name,
                     platform.devices[static_cast<std::size_t>(to)].name, names);
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
  if (platform.devices.size() > kMaxExplicitDevices) return write_levels_xml(platform, speed);
  std::string xml = xml_head(platform, "Full", xml_collectives(platform));
  for (const Device& device : platform.devices) xml += xml_host(device, speed);
  for (const Link& link : platform.links) xml += xml_link(link);
  for (std::size_t from = 0; from < platform.devices.size(); ++from)
    write_routes(xml, platform, static_cast<std::int32_t>(from));
  return xml.append(xml_tail());
}

}  // namespace pipecast

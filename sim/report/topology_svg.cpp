#include <fmt/format.h>

#include <algorithm>

#include "sim/report/topology.hpp"
#include "sim/report/topology_groups.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kShownMembers = 8;
constexpr int kDeviceWidth = 56;
constexpr int kDeviceHeight = 26;
constexpr int kGap = 8;
constexpr int kTitle = 18;
constexpr int kPerRow = 4;
constexpr std::int32_t kShownGrid = 24;

struct Size {
  int width = 0;
  int height = 0;
};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

void add_text(std::string& svg, int x, int y, std::string_view text) {
  svg += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x, y, escaped(text));
}

void add_box(std::string& svg, int x, int y, Size size, std::string_view fill) {
  svg += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{}\" "
      "stroke=\"#555\"/>\n",
      x, y, size.width, size.height, fill);
}

Size member_size(const TopologyGroup& group);

/// Members in rows of four under a title.
Size group_size(const TopologyGroup& group) {
  Size size{0, kTitle + kGap};
  for (std::size_t first = 0; first < group.members.size(); first += kPerRow) {
    Size row;
    for (std::size_t at = first; at < std::min(first + kPerRow, group.members.size()); ++at) {
      const Size member = member_size(group.members[at]);
      row.width += member.width + kGap;
      row.height = std::max(row.height, member.height);
    }
    size.width = std::max(size.width, row.width);
    size.height += row.height + kGap;
  }
  size.width = std::max(size.width + kGap, 120);
  if (group.hidden > 0) size.height += kTitle;
  return size;
}

Size member_size(const TopologyGroup& group) {
  return group.members.empty() ? Size{kDeviceWidth, kDeviceHeight} : group_size(group);
}

void draw(std::string& svg, const TopologyGroup& group, int x, int y, int depth) {
  constexpr std::string_view kFills[] = {"#f4f6fb", "#e3eaf6", "#d3e2d8", "#f3e6cf", "#efd9d9"};
  const Size size = member_size(group);
  if (group.members.empty()) {
    add_box(svg, x, y, size, "#ffffff");
    add_text(svg, x + 5, y + 17, group.label);
    return;
  }
  add_box(svg, x, y, size, kFills[std::min(depth, 4)]);
  add_text(svg, x + kGap, y + 15, fmt::format("{} ({} devices)", group.label, group.devices));
  int top = y + kTitle + kGap;
  for (std::size_t first = 0; first < group.members.size(); first += kPerRow) {
    int left = x + kGap;
    int height = 0;
    for (std::size_t at = first; at < std::min(first + kPerRow, group.members.size()); ++at) {
      draw(svg, group.members[at], left, top, depth + 1);
      left += member_size(group.members[at]).width + kGap;
      height = std::max(height, member_size(group.members[at]).height);
    }
    top += height + kGap;
  }
  if (group.hidden > 0)
    add_text(svg, x + kGap, y + size.height - 6, fmt::format("and {} more", group.hidden));
}

std::string framed(Size size, const std::string& body) {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
             "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n",
             size.width + 2 * kGap, size.height + 2 * kGap) +
         body + "</svg>\n";
}

/// The last two dimensions of the first layer; wires that wrap are drawn as stubs.
std::string torus_svg(const Platform& platform, const TorusRouting& torus) {
  const std::size_t dimensions = torus.shape.size();
  const std::int32_t columns = std::min(torus.shape.back(), kShownGrid);
  const std::int32_t rows = dimensions > 1 ? std::min(torus.shape[dimensions - 2], kShownGrid) : 1;
  constexpr int kStep = 34;
  std::string svg;
  std::string title = platform.name + " ";
  for (std::size_t d = 0; d < dimensions; ++d)
    title += (d > 0 ? "x" : "") + std::to_string(torus.shape[d]);
  add_text(svg, kGap, kTitle, title + ": the last two dimensions of its first layer");
  for (std::int32_t row = 0; row < rows; ++row)
    for (std::int32_t column = 0; column < columns; ++column) {
      const int x = kGap + 20 + column * kStep;
      const int y = kTitle + 30 + row * kStep;
      const bool right = column + 1 < columns || torus.backward[dimensions - 1].value >= 0;
      const bool down = row + 1 < rows || (rows > 1 && torus.backward[dimensions - 2].value >= 0);
      if (right) svg += fmt::format("<path d=\"M{} {}h{}\" stroke=\"#555\"/>\n", x, y, kStep);
      if (down) svg += fmt::format("<path d=\"M{} {}v{}\" stroke=\"#555\"/>\n", x, y, kStep);
      svg += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"7\" fill=\"#e3eaf6\" stroke=\"#555\"/>\n",
                         x, y);
    }
  return framed({std::max(columns * kStep + 40, 460), rows * kStep + 60}, svg);
}

}  // namespace

std::string topology_svg(const Platform& platform) {
  if (const auto* torus = std::get_if<TorusRouting>(&platform.routing))
    return torus_svg(platform, *torus);
  const TopologyGroup whole = topology_groups(platform, kShownMembers);
  std::string svg;
  draw(svg, whole, kGap, kGap, 0);
  return framed(member_size(whole), svg);
}

}  // namespace pipecast

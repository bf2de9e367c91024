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
constexpr std::size_t kPerRow = 4;
constexpr std::size_t kShownOutside = 4;  ///< groups of groups of groups
constexpr int kWidest = 1120;             ///< of a row, where one member is not wider
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

/// A row of members: the first one that is not in it, and its size.
struct Row {
  std::size_t end = 0;
  Size size;
};

/// At most four, as many as the page is wide.
Row row_from(const TopologyGroup& group, std::size_t first) {
  Row row{first, {}};
  for (; row.end < std::min(first + kPerRow, group.members.size()); ++row.end) {
    const Size member = member_size(group.members[row.end]);
    if (row.end > first && row.size.width + member.width > kWidest) break;
    row.size.width += member.width + kGap;
    row.size.height = std::max(row.size.height, member.height);
  }
  return row;
}

/// Members in rows under a title.
Size group_size(const TopologyGroup& group) {
  Size size{0, kTitle + kGap};
  for (Row row; row.end < group.members.size();) {
    row = row_from(group, row.end);
    size.width = std::max(size.width, row.size.width);
    size.height += row.size.height + kGap;
  }
  size.width = std::max(size.width + kGap, 120);
  if (group.hidden > 0) size.height += kTitle;
  return size;
}

Size member_size(const TopologyGroup& group) {
  if (!group.members.empty()) return group_size(group);
  constexpr int kLetter = 7;
  return {std::max(kDeviceWidth, 10 + kLetter * static_cast<int>(group.label.size())),
          kDeviceHeight};
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
  for (std::size_t first = 0; first < group.members.size();) {
    const Row row = row_from(group, first);
    int left = x + kGap;
    for (; first < row.end; ++first) {
      draw(svg, group.members[first], left, top, depth + 1);
      left += member_size(group.members[first]).width + kGap;
    }
    top += row.size.height + kGap;
  }
  if (group.hidden > 0)
    add_text(svg, x + kGap, y + size.height - 6, fmt::format("and {} more", group.hidden));
}

/// Levels of groups inside; a group of many levels keeps fewer members, or the page is endless.
int shorten(TopologyGroup& group) {
  int inside = 0;
  for (TopologyGroup& member : group.members) inside = std::max(inside, 1 + shorten(member));
  if (inside > 2 && group.members.size() > kShownOutside) {
    group.hidden += group.members.size() - kShownOutside;
    group.members.resize(kShownOutside);
  }
  return inside;
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
  TopologyGroup whole = topology_groups(platform, kShownMembers);
  shorten(whole);
  std::string svg;
  draw(svg, whole, kGap, kGap, 0);
  return framed(member_size(whole), svg);
}

}  // namespace pipecast

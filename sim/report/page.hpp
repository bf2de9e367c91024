#pragma once
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/report/page_timeline.hpp"

/// A page is a value: figures, tables, charts and timelines in the order in which they are read.
/// What a report wants to show it puts into a Page; how it looks is the bundle's business
/// (sim/report/page). Every text may hold anything a user wrote: it is escaped on writing.
namespace pipecast {

/// One number with its name, large.
struct PageFigure {
  std::string name;
  std::string value;
  std::string meaning;  ///< a sentence or a formula in small print
};
struct PageFigures {
  std::vector<PageFigure> figures;
};

/// What a table cell shows and, where it is a quantity, the number that it is sorted by.
struct PageCell {
  std::string text;
  std::optional<double> number;
};
struct PageTable {
  std::string title;
  std::string note;
  std::vector<std::string> columns;
  std::vector<std::vector<PageCell>> rows;
};

/// How the numbers of an axis are written.
enum class PageUnit : std::uint8_t {
  Plain,
  Time,    ///< seconds
  Memory,  ///< bytes
  Share,   ///< 1 is written as 100 %
  Money,   ///< dollars
};

struct PageAxis {
  std::string name;
  PageUnit unit = PageUnit::Plain;
  bool logarithmic = false;
};

struct PageSeries {
  std::string name;
  std::vector<double> x;  ///< Lines, Steps, Scatter; empty for the others
  std::vector<double> y;  ///< Bars, Waterfall: one per category; Heatmap: one per column
  std::vector<std::string> labels = {};  ///< Scatter: of each point, or none
  std::string color = {};  ///< a role of the page's palette such as `busy`, or empty: the next one
  bool shown = true;       ///< at first; the reader switches series in the legend
};

/// A line across a chart, such as the capacity of a device.
struct PageLimit {
  std::string name;
  double y = 0;
};

enum class PageChartKind : std::uint8_t {
  Lines,      ///< y over x
  Steps,      ///< y over x, constant between points
  Scatter,    ///< points with labels
  Bars,       ///< stacked, a bar per category, lying
  Waterfall,  ///< parts that add up from the first category to the last: one series, whose first
              ///< and last entry are totals and whose others are changes
  Heatmap,    ///< a row per series, a column per y; x holds the edges of the columns
};

struct PageChart {
  std::string title;
  std::string note;
  PageChartKind kind = PageChartKind::Lines;
  PageAxis x;
  PageAxis y;
  std::vector<std::string> categories = {};  ///< Bars, Waterfall
  std::vector<PageSeries> series = {};
  std::vector<PageLimit> limits = {};
  bool follows_timeline = false;  ///< its x axis shows the part of time that the timeline shows
};

/// Text as it stands, such as the scenario that made the run.
struct PageText {
  std::string title;
  std::string text;
};

/// One or several runs above each other on one axis of time.
struct PageTimelines {
  std::string title;
  std::string note;
  std::vector<PackedTimeline> runs;
  std::vector<std::size_t> shown;  ///< indices of the runs that are drawn at first
};

using PageBlock = std::variant<PageFigures, PageTable, PageChart, PageText, PageTimelines>;

/// Blocks under a name; of several sections the reader chooses one at a time.
struct PageSection {
  std::string name;
  std::vector<PageBlock> blocks;
};

struct Page {
  std::string title;
  std::string subtitle;
  std::vector<std::string> warnings;
  std::vector<PageBlock> blocks;
  std::vector<PageSection> sections;
  std::string footer;
};

/// One HTML file that opens offline: the page's data, the script and the style that show it.
/// Nothing is fetched and nothing of the data can leave its place. O(size of the page).
void write_page(const Page& page, std::ostream& out);

}  // namespace pipecast

#include "sim/report/page.hpp"

#include <ostream>
#include <string_view>

#include "sim/report/page_bundle.hpp"
#include "sim/report/page_json.hpp"

namespace pipecast {
namespace {

std::string_view unit_word(PageUnit unit) {
  switch (unit) {
    case PageUnit::Plain:
      return "number";
    case PageUnit::Time:
      return "seconds";
    case PageUnit::Memory:
      return "bytes";
    case PageUnit::Share:
      return "share";
    case PageUnit::Money:
      return "money";
  }
  return "number";
}

std::string_view chart_word(PageChartKind kind) {
  switch (kind) {
    case PageChartKind::Lines:
      return "lines";
    case PageChartKind::Steps:
      return "steps";
    case PageChartKind::Scatter:
      return "scatter";
    case PageChartKind::Bars:
      return "bars";
    case PageChartKind::Waterfall:
      return "waterfall";
    case PageChartKind::Heatmap:
      return "heatmap";
  }
  return "lines";
}

void write_texts(PageJson& json, std::string_view name, const std::vector<std::string>& texts) {
  json.key(name).open_list();
  for (const std::string& text : texts) json.text(text);
  json.close_list();
}

void write_block(PageJson& json, const PageFigures& block) {
  json.key("type").text("figures").key("figures").open_list();
  for (const PageFigure& figure : block.figures) {
    json.open_object().key("name").text(figure.name).key("value").text(figure.value);
    json.key("meaning").text(figure.meaning).close_object();
  }
  json.close_list();
}

void write_block(PageJson& json, const PageTable& block) {
  json.key("type").text("table").key("title").text(block.title).key("note").text(block.note);
  write_texts(json, "columns", block.columns);
  json.key("rows").open_list();
  for (const auto& row : block.rows) {
    json.open_list();
    for (const PageCell& cell : row) {
      if (cell.number)
        json.open_list().text(cell.text).number(*cell.number).close_list();
      else
        json.text(cell.text);
    }
    json.close_list();
  }
  json.close_list();
}

void write_axis(PageJson& json, std::string_view name, const PageAxis& axis) {
  json.key(name).open_object().key("name").text(axis.name).key("unit").text(unit_word(axis.unit));
  json.key("logarithmic").flag(axis.logarithmic).close_object();
}

void write_series(PageJson& json, const PageSeries& series) {
  json.open_object().key("name").text(series.name).key("color").text(series.color);
  json.key("x").numbers(series.x).key("y").numbers(series.y).key("shown").flag(series.shown);
  if (!series.labels.empty()) write_texts(json, "labels", series.labels);
  json.close_object();
}

void write_block(PageJson& json, const PageChart& block) {
  json.key("type").text("chart").key("title").text(block.title).key("note").text(block.note);
  json.key("kind").text(chart_word(block.kind));
  write_axis(json, "x", block.x);
  write_axis(json, "y", block.y);
  write_texts(json, "categories", block.categories);
  json.key("series").open_list();
  for (const PageSeries& series : block.series) write_series(json, series);
  json.close_list().key("limits").open_list();
  for (const PageLimit& limit : block.limits)
    json.open_object().key("name").text(limit.name).key("y").number(limit.y).close_object();
  json.close_list().key("follows_timeline").flag(block.follows_timeline);
}

void write_block(PageJson& json, const PageText& block) {
  json.key("type").text("text").key("title").text(block.title).key("text").text(block.text);
}

void write_block(PageJson& json, const PageTimelines& block) {
  json.key("type").text("timelines").key("title").text(block.title).key("note").text(block.note);
  json.key("shown").open_list();
  for (const std::size_t run : block.shown) json.integer(static_cast<std::int64_t>(run));
  json.close_list().key("runs").open_list();
  for (const PackedTimeline& run : block.runs) json.raw(run.json);
  json.close_list();
}

void write_blocks(PageJson& json, const std::vector<PageBlock>& blocks) {
  json.key("blocks").open_list();
  for (const PageBlock& block : blocks) {
    json.open_object();
    std::visit([&](const auto& content) { write_block(json, content); }, block);
    json.close_object();
  }
  json.close_list();
}

std::string json_of(const Page& page) {
  PageJson json;
  json.open_object().key("title").text(page.title).key("subtitle").text(page.subtitle);
  write_texts(json, "warnings", page.warnings);
  write_blocks(json, page.blocks);
  json.key("sections").open_list();
  for (const PageSection& section : page.sections) {
    json.open_object().key("name").text(section.name);
    write_blocks(json, section.blocks);
    json.close_object();
  }
  json.close_list().key("footer").text(page.footer).close_object();
  return json.take();
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

/// What a reader without scripts sees: the figures.
void write_plain(const Page& page, std::ostream& out) {
  out << "<noscript><p>This page draws its charts with the script it holds; without it only its "
         "first figures can be read.</p>\n<dl>\n";
  for (const PageBlock& block : page.blocks)
    if (const auto* figures = std::get_if<PageFigures>(&block))
      for (const PageFigure& figure : figures->figures)
        out << "<dt>" << escaped(figure.name) << "</dt><dd>" << escaped(figure.value) << "</dd>\n";
  out << "</dl></noscript>\n";
}

}  // namespace

void write_page(const Page& page, std::ostream& out) {
  out << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>"
      << escaped(page.title) << "</title>\n<style>" << page_style() << "</style></head>\n<body>\n"
      << "<main id=\"page\"><h1>" << escaped(page.title) << "</h1>\n";
  write_plain(page, out);
  out << "</main>\n<script type=\"application/json\" id=\"data\">" << json_of(page)
      << "</script>\n<script>" << page_script() << "</script>\n</body></html>\n";
}

}  // namespace pipecast

#include "sim/study/compare_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace pipecast {
namespace {

std::string percent(double fraction) { return fmt::format("{:.2f} %", 100 * fraction); }

std::string relative(const CompareRow& row) {
  return row.relative_step > 0 ? fmt::format("{:.3f}", row.relative_step) : std::string("-");
}

std::vector<std::string> cells(const CompareRow& row) {
  return {row.schedule,
          std::to_string(row.shape.chunks),
          format(Seconds{row.step_s}),
          relative(row),
          percent(row.bubble_fraction),
          percent(row.bubble_overhead),
          percent(row.span_bubble_fraction),
          std::to_string(row.largest_in_flight),
          format(row.largest_peak_activation),
          format(row.largest_static),
          std::to_string(row.transfers),
          std::string(fit_word(fit_of(row)))};
}

std::vector<std::vector<std::string>> table_of(const std::vector<CompareRow>& rows) {
  std::vector<std::vector<std::string>> table{{"schedule", "chunks", "step time", "/ 1f1b",
                                               "bubble", "overhead", "span bubble", "in flight",
                                               "activations", "weights etc.", "transfers", "fits"}};
  for (const CompareRow& row : rows)
    if (row.refused.empty()) table.push_back(cells(row));
  return table;
}

void write_table(const std::vector<std::vector<std::string>>& table, std::ostream& out) {
  std::vector<std::size_t> widths(table.front().size(), 0);
  for (const auto& line : table)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  for (const auto& line : table) {
    std::string text = fmt::format("{:<{}}", line.front(), widths.front());
    for (std::size_t i = 1; i < line.size(); ++i)
      text += fmt::format("  {:>{}}", line[i], widths[i]);
    out << text << "\n";
  }
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    if (static_cast<unsigned char>(letter) < 0x20)
      result += fmt::format("\\u{:04x}", static_cast<int>(letter));
    else
      result += letter;
  }
  return result + "\"";
}

void write_row(const CompareRow& row, std::ostream& out) {
  out << "    {\"schedule\": " << quoted(row.schedule) << ", \"ranks\": " << row.shape.ranks
      << ", \"chunks\": " << row.shape.chunks << ", \"microbatches\": " << row.shape.microbatches;
  if (!row.refused.empty()) {
    out << ", \"refused\": " << quoted(row.refused) << "}";
    return;
  }
  out << ", \"step_s\": " << format_number(row.step_s)
      << ", \"relative_step\": " << format_number(row.relative_step)
      << ", \"bubble_fraction\": " << format_number(row.bubble_fraction)
      << ", \"bubble_overhead\": " << format_number(row.bubble_overhead)
      << ", \"span_bubble_fraction\": " << format_number(row.span_bubble_fraction)
      << ", \"largest_in_flight\": " << row.largest_in_flight
      << ", \"largest_peak_activation_bytes\": " << format_number(row.largest_peak_activation.value)
      << ", \"peak_activation_bytes\": [";
  for (std::size_t rank = 0; rank < row.peak_activation.size(); ++rank)
    out << (rank > 0 ? ", " : "") << format_number(row.peak_activation[rank].value);
  out << "], \"largest_static_bytes\": " << format_number(row.largest_static.value)
      << ", \"weight_copies\": " << row.weight_copies << ", \"transfers\": " << row.transfers
      << ", \"fits\": " << json_word(fit_of(row)) << "}";
}

}  // namespace

void write_compare_text(const std::vector<CompareRow>& rows, std::ostream& out) {
  const auto table = table_of(rows);
  if (table.size() > 1) {
    write_table(table, out);
    out << "\nbubble: idle / (ranks x step); overhead: step / busiest rank's compute - 1; span "
           "bubble: the bubble of\n"
           "the longest rank span. activations, in flight and weights are those of the fullest "
           "rank.\n";
  }
  bool headed = false;
  for (const CompareRow& row : rows) {
    if (row.refused.empty()) continue;
    if (!headed) out << "\nnot valid here\n";
    headed = true;
    out << "  " << row.schedule << ": " << row.refused << "\n";
  }
}

void write_compare_json(const std::vector<CompareRow>& rows, std::string_view scenario,
                        std::string_view engine, std::ostream& out) {
  out << "{\"format\": \"pipecast.compare/1\",\n  \"scenario\": " << quoted(scenario)
      << ", \"engine\": " << quoted(engine) << ",\n  \"rows\": [\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    write_row(rows[i], out);
    out << (i + 1 < rows.size() ? ",\n" : "\n");
  }
  out << "  ]}\n";
}

}  // namespace pipecast

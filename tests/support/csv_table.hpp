#pragma once
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace pipecast::test {

/// A row of a data file by column name. Tests read their own data, so a missing column is a broken
/// test: it throws.
struct CsvRow {
  std::map<std::string, std::string> cells;
  const std::string& text(const std::string& column) const { return cells.at(column); }
  double number(const std::string& column) const { return std::stod(cells.at(column)); }
  int integer(const std::string& column) const { return std::stoi(cells.at(column)); }
};

/// Reads a comma-separated file whose first line without '#' is the header.
inline std::vector<CsvRow> read_csv_table(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::vector<CsvRow> rows;
  std::vector<std::string> header;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    std::stringstream stream(line);
    std::string cell;
    while (std::getline(stream, cell, ',')) cells.push_back(cell);
    if (header.empty()) {
      header = cells;
      continue;
    }
    if (cells.size() != header.size()) throw std::runtime_error(path + ": ragged line: " + line);
    CsvRow row;
    for (std::size_t i = 0; i < header.size(); ++i) row.cells[header[i]] = cells[i];
    rows.push_back(row);
  }
  return rows;
}

}  // namespace pipecast::test

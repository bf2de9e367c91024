#pragma once
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace pipecast::testing {

/// Name and text of each block of a file that holds many: a line "# name" before the lines of each.
inline std::vector<std::pair<std::string, std::string>> read_csv_blocks(const std::string& path) {
  std::vector<std::pair<std::string, std::string>> blocks;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("# ", 0) == 0)
      blocks.emplace_back(line.substr(2), "");
    else
      blocks.back().second += line + "\n";
  }
  return blocks;
}

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace pipecast::testing

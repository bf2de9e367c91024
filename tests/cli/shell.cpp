#include "tests/cli/shell.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace pipecast::cli {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace

Workshop::Workshop() {
  std::string pattern = (fs::temp_directory_path() / "pipecast-cli-XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
  fs::create_directory_symlink(fs::absolute(PIPECAST_SOURCE_DIR "/scenarios"), path("scenarios"));
}

Workshop::~Workshop() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  fs::remove_all(folder_ + ".sh", ignored);
}

void Workshop::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
}

std::string Workshop::read(const std::string& name) const { return content(path(name)); }

bool Workshop::exists(const std::string& name) const { return fs::exists(path(name)); }

std::string Workshop::listing() const {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names)
    if (name != "scenarios") text += (text.empty() ? "" : " ") + name;
  return text;
}

Outcome Workshop::sh(const std::string& line) const {
  const fs::path beside = folder_ + ".sh";
  fs::create_directories(beside);
  std::ofstream(beside / "script")
      << "unset COLUMNS NO_COLOR\nPATH=" << PIPECAST_PROGRAM_DIR << ":$PATH\ncd " << folder_ << "\n"
      << line << "\n";
  const std::string command = "sh " + (beside / "script").string() + " </dev/null >" +
                              (beside / "out").string() + " 2>" + (beside / "err").string();
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(beside / "out"),
          content(beside / "err")};
}

std::string repository_file(const std::string& name) {
  return content(fs::path(PIPECAST_SOURCE_DIR) / name);
}

}  // namespace pipecast::cli

#include "tests/layering/include_walls.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

namespace pipecast::layering {
namespace {

using Names = std::vector<std::string_view>;

/// What a room may include of ours: whole rooms, or single interface headers.
std::map<std::string_view, Names> room_table() {
  return {
      {"sim/base", {}},
      {"sim/model", {"sim/base"}},
      {"sim/cost", {"sim/base", "sim/model"}},
      {"sim/graph", {"sim/base", "sim/model"}},
      {"sim/run", {"sim/base", "sim/model", "sim/graph"}},
      {"sim/read",
       {"sim/base", "sim/model", "sim/cost", "sim/graph/transfers.hpp", "schedules/schedule.hpp",
        "platforms/platform_kind.hpp"}},
      {"sim/report", {"sim/base", "sim/model", "sim/graph"}},
      {"sim/study",
       {"sim/base", "sim/model", "sim/cost", "sim/graph", "sim/run", "sim/read", "sim/report",
        "schedules/schedule.hpp", "platforms/platform_kind.hpp"}},
      {"schedules", {"sim/base", "sim/model"}},
      {"platforms", {"sim/base", "sim/model"}},
      {"tools", {"sim", "schedules/schedule.hpp", "platforms/platform_kind.hpp"}},
      {"sim", {"sim", "schedules/schedule.hpp", "platforms/platform_kind.hpp"}},
  };
}

/// Where headers that are not ours may be included: prefix of the include → rooms or files.
std::vector<std::pair<std::string_view, Names>> library_table() {
  const Names everywhere = {"sim", "schedules", "platforms", "tools"};
  const Names processes = {"sim/run", "sim/study", "tools"};
  return {
      {"fmt/", everywhere},
      {"tl/", {"sim/base"}},
      {"boost/graph/", {"sim/graph"}},
      {"simgrid/", {"sim/run/simgrid_run.cpp"}},
      {"yaml-cpp/", {"sim/read/yaml_cursor.cpp"}},
      {"nlohmann/", {"sim/read/json_tree.cpp", "sim/read/trace_import.cpp"}},
      {"expat.h", {"sim/read/xml_tree.cpp"}},
      {"zlib.h", {"sim/report", "sim/read/byte_source.cpp"}},
      {"sqlite3.h", {"sim/study/store.cpp"}},
      {"CLI/", {"tools"}},
      {"spdlog/", {"tools"}},
      {"unistd.h", processes},
      {"fcntl.h", processes},
      {"poll.h", processes},
      {"signal.h", processes},
      {"sys/mman.h", {"sim/base/large_vector.cpp", "sim/run/child_process.cpp"}},
      {"sys/", processes},
  };
}

std::string folder_of(std::string_view path) {
  return std::string(path.substr(0, path.find_last_of('/')));
}

/// `path` is `name` itself or lies below it.
bool lies_in(std::string_view path, std::string_view name) {
  return path == name ||
         (path.starts_with(name) && path.size() > name.size() && path[name.size()] == '/');
}

bool any_contains(const Names& names, std::string_view path) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return lies_in(path, name); });
}

/// Empty when allowed, else what is wrong.
std::string judge_ours(const Sources& sources, std::string_view file, const Include& include) {
  if (!sources.contains(include.target)) return "is not a file of this repository";
  const std::string room = folder_of(file);
  const std::map<std::string_view, Names> rooms = room_table();
  const auto row = rooms.find(room);
  if (row == rooms.end()) return "is included from a folder that is no room";
  if (folder_of(include.target) == room || any_contains(row->second, include.target)) return {};
  return "is behind a wall for " + room;
}

std::string judge_library(std::string_view file, const Include& include) {
  if (include.target.find_first_of("./") == std::string::npos) return {};  // the standard library
  for (const auto& [prefix, places] : library_table()) {
    if (!include.target.starts_with(prefix)) continue;
    return any_contains(places, file) ? "" : "may not be used here";
  }
  return "is a library that the table does not know";
}

bool reaches_algorithm(const Sources& sources, const std::string& file,
                       std::set<std::string>& seen) {
  const auto found = sources.find(file);
  if (found == sources.end() || !seen.insert(file).second) return false;
  const std::vector<Include> includes = includes_of(found->second);
  return std::any_of(includes.begin(), includes.end(), [&](const Include& include) {
    return include.quoted ? reaches_algorithm(sources, include.target, seen)
                          : include.target == "algorithm";
  });
}

}  // namespace

Sources read_sources(const std::string& root, const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  Sources sources;
  for (const std::string& top : folders) {
    if (!fs::exists(fs::path(root) / top)) continue;
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(fs::path(root) / top)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".hpp" && extension != ".cpp") continue;
      std::ifstream stream(entry.path());
      std::ostringstream text;
      text << stream.rdbuf();
      sources[fs::relative(entry.path(), root).generic_string()] = text.str();
    }
  }
  return sources;
}

std::vector<Include> includes_of(std::string_view text) {
  const std::regex pattern(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
  std::vector<Include> result;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (std::regex_search(line, match, pattern))
      result.push_back({match[2].str(), match[1].str() == "\"", number});
  }
  return result;
}

std::vector<std::string> wall_violations(const Sources& sources) {
  std::vector<std::string> violations;
  for (const auto& [file, text] : sources) {
    for (const Include& include : includes_of(text)) {
      const std::string fault =
          include.quoted ? judge_ours(sources, file, include) : judge_library(file, include);
      if (!fault.empty())
        violations.push_back(file + ":" + std::to_string(include.line) + ": " + include.target +
                             " " + fault);
    }
  }
  return violations;
}

std::vector<std::string> headers_not_first(const Sources& sources) {
  std::vector<std::string> late;
  for (const auto& [file, text] : sources) {
    if (!file.ends_with(".cpp")) continue;
    const std::string header = file.substr(0, file.size() - 4) + ".hpp";
    if (!sources.contains(header)) continue;
    const std::vector<Include> includes = includes_of(text);
    if (includes.empty() || includes.front().target != header)
      late.push_back(file + ": must include " + header + " first");
  }
  return late;
}

std::vector<std::string> algorithm_missing(const Sources& sources) {
  constexpr std::array<std::string_view, 18> kCalls{
      "std::find(",        "std::find_if(",    "std::sort(",    "std::stable_sort(",
      "std::min(",         "std::max(",        "std::clamp(",   "std::min_element(",
      "std::max_element(", "std::any_of(",     "std::all_of(",  "std::none_of(",
      "std::count(",       "std::count_if(",   "std::replace(", "std::unique(",
      "std::lower_bound(", "std::upper_bound("};
  std::vector<std::string> missing;
  for (const auto& [file, text] : sources) {
    const bool calls = std::any_of(kCalls.begin(), kCalls.end(),
                                   [&, text = std::string_view(text)](std::string_view call) {
                                     return text.find(call) != std::string::npos;
                                   });
    std::set<std::string> seen;
    if (calls && !reaches_algorithm(sources, file, seen)) missing.push_back(file);
  }
  return missing;
}

std::vector<std::string> types_defined_twice(const Sources& sources) {
  static const std::regex kType(R"((?:struct|class|enum class) (\w+(?:::\w+)*)\b[^;(]*\{.*)");
  static const std::regex kNamespace(R"(namespace ?([\w:]*) \{)");
  std::map<std::string, std::string> home;
  std::vector<std::string> twice;
  for (const auto& [file, text] : sources) {
    std::vector<std::string> spaces;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (std::regex_match(line, match, kNamespace)) {
        spaces.push_back(match[1].length() > 0 ? match[1].str() : "anonymous in " + file);
      } else if (line.starts_with("}  // namespace") && !spaces.empty()) {
        spaces.pop_back();
      } else if (std::regex_match(line, match, kType)) {
        std::string name;
        for (const std::string& space : spaces) name += space + "::";
        const auto [first, fresh] = home.emplace(name + match[1].str(), file);
        if (!fresh) twice.push_back(first->first + ": " + first->second + ", " + file);
      }
    }
  }
  return twice;
}

std::vector<std::string> include_cycles(const Sources& sources) {
  std::vector<std::string> cycles;
  std::set<std::string> done;
  std::vector<std::string> path;
  const std::function<void(const std::string&)> visit = [&](const std::string& file) {
    if (const auto seen = std::find(path.begin(), path.end(), file); seen != path.end()) {
      std::string circle;
      for (auto step = seen; step != path.end(); ++step) circle += *step + " -> ";
      cycles.push_back(circle + file);
      return;
    }
    const auto source = sources.find(file);
    if (source == sources.end() || done.contains(file)) return;
    path.push_back(file);
    for (const Include& include : includes_of(source->second))
      if (include.quoted) visit(include.target);
    path.pop_back();
    done.insert(file);
  };
  for (const auto& [file, text] : sources) visit(file);
  return cycles;
}

std::vector<std::string> unregistered(const Sources& sources, std::string_view folder,
                                      std::string_view info) {
  const std::string registry_path = std::string(folder) + "/registry.cpp";
  const auto registry = sources.find(registry_path);
  if (registry == sources.end()) return {registry_path + " does not exist"};
  const std::regex definition("(^|\\n)" + std::string(info) + "\\s+(\\w+)\\s*\\(\\s*\\)\\s*\\{");
  std::vector<std::string> missing;
  for (const auto& [file, text] : sources) {
    if (file == registry_path || !lies_in(file, folder) || !file.ends_with(".cpp")) continue;
    for (std::sregex_iterator match(text.begin(), text.end(), definition), end; match != end;
         ++match) {
      const std::string name = (*match)[2].str();
      const std::regex row("[\\s{,(]" + name + "\\(\\)");
      if (!std::regex_search(registry->second, row))
        missing.push_back(file + ": " + name + "() has no row in " + registry_path);
    }
  }
  return missing;
}

}  // namespace pipecast::layering

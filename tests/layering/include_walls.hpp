#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// The walls between rooms (docs/architecture.md, "Who may touch what") as functions from text to
/// violations, so that the tests can show that each of them is able to fail.
namespace pipecast::layering {

/// Source files by path relative to the repository root.
using Sources = std::map<std::string, std::string, std::less<>>;

/// Every .hpp and .cpp of sim, schedules, platforms and tools, or of other folders.
Sources read_sources(const std::string& root, const std::vector<std::string>& folders = {
                                                  "sim", "schedules", "platforms", "tools"});

struct Include {
  std::string target;
  bool quoted = false;  ///< "…" as opposed to <…>
  int line = 0;
};
std::vector<Include> includes_of(std::string_view text);

/// `file:line: …` for each include that the table does not allow.
std::vector<std::string> wall_violations(const Sources& sources);

/// Sources that do not include their own header first. One that does proves that the header
/// compiles alone; headers without a source are compiled alone by tests/layering/CMakeLists.txt.
std::vector<std::string> headers_not_first(const Sources& sources);

/// Sources that call an algorithm of the standard library and reach no `#include <algorithm>`, in
/// themselves or in our headers. One compiler's other headers bring it along, the next one's do
/// not.
std::vector<std::string> algorithm_missing(const Sources& sources);

/// Types of one name in one namespace: two that no source includes together compile and link, and
/// each then destroys the other's objects through the functions that the linker merged.
std::vector<std::string> types_defined_twice(const Sources& sources);

/// Each circle of headers, as `a -> b -> a`.
std::vector<std::string> include_cycles(const Sources& sources);

/// Functions of `folder` that return an `info` (such as ScheduleInfo) by value and are not called
/// in `folder`/registry.cpp.
std::vector<std::string> unregistered(const Sources& sources, std::string_view folder,
                                      std::string_view info);

}  // namespace pipecast::layering

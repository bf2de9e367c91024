#pragma once
#include <string>

namespace pipecast::cli {

/// What a shell command did.
struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

/// A folder of its own for one test, removed with everything in it at the end. The repository's
/// scenarios are reachable in it as `scenarios/`.
class Workshop {
 public:
  Workshop();
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  ~Workshop();

  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  bool exists(const std::string& name) const;
  /// Names in the folder, sorted, without `scenarios`.
  std::string listing() const;

  /// Runs `line` in the folder with sh, the built `pipecast` first in PATH, no terminal, COLUMNS
  /// and NO_COLOR unset.
  Outcome sh(const std::string& line) const;

 private:
  std::string folder_;
};

/// Content of a file of the repository.
std::string repository_file(const std::string& name);

}  // namespace pipecast::cli

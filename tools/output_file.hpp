#pragma once
#include <fstream>
#include <functional>
#include <iosfwd>
#include <string>

#include "sim/base/diagnostic.hpp"

namespace pipecast {

/// A file that appears whole or not at all: written under a temporary name in the same folder and
/// renamed by commit(). What was never committed leaves no trace. `-` is the standard output, and
/// what is not a regular file (a device, a pipe) is written directly.
class OutputFile {
 public:
  /// Fails at once when the place cannot be written, before a long run is spent on it.
  static Result<OutputFile> open(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// As the user wrote it.
  const std::string& path() const { return path_; }
  std::ostream& stream();

  /// Flushes, checks that everything was written, and gives the file its name.
  Result<void> commit();

 private:
  OutputFile(std::string path, std::string target, std::string written);

  std::string path_;
  std::string target_;   ///< path_ with symbolic links followed
  std::string written_;  ///< where the bytes go until commit; empty for the standard output
  std::ofstream file_;
};

/// open, write, commit.
Result<void> write_output(const std::string& path, const std::function<void(std::ostream&)>& write);

}  // namespace pipecast

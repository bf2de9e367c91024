#include "tools/output_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

namespace pipecast {
namespace {

Diagnostic cannot_write(const std::string& path, int error) {
  std::string message =
      path == "-" ? "cannot write to the standard output" : "cannot write '" + path + "'";
  if (error != 0) message += std::string(": ") + std::strerror(error);
  return input_error(std::move(message));
}

}  // namespace

OutputFile::OutputFile(std::string path, std::string target, std::string written)
    : path_(std::move(path)), target_(std::move(target)), written_(std::move(written)) {
  if (!written_.empty()) file_.open(written_, std::ios::binary | std::ios::trunc);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      written_(std::exchange(other.written_, {})),
      file_(std::move(other.file_)) {}

OutputFile::~OutputFile() {
  if (!written_.empty() && written_ != target_) std::remove(written_.c_str());
}

Result<OutputFile> OutputFile::open(const std::string& path) {
  namespace fs = std::filesystem;
  if (path == "-") return OutputFile(path, {}, {});
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (fs::is_directory(status)) return fail(cannot_write(path, EISDIR));
  const bool direct = fs::exists(status) && !fs::is_regular_file(status);
  const fs::path followed = fs::weakly_canonical(path, unknown);
  const std::string target = direct || unknown ? path : followed.string();
  const std::string written = direct ? target : target + ".tmp-" + std::to_string(getpid());
  errno = 0;
  OutputFile file(path, target, written);
  if (!file.file_.is_open()) return fail(cannot_write(path, errno));
  if (!direct && fs::exists(status) && access(target.c_str(), W_OK) != 0)
    return fail(cannot_write(path, errno));
  return file;
}

std::ostream& OutputFile::stream() {
  errno = 0;  // so that commit() can say why writing failed
  return path_ == "-" ? std::cout : static_cast<std::ostream&>(file_);
}

Result<void> OutputFile::commit() {
  std::ostream& out = path_ == "-" ? std::cout : static_cast<std::ostream&>(file_);
  out.flush();
  const bool flushed = out.good();
  if (path_ == "-") return flushed ? Result<void>{} : fail(cannot_write("-", errno));
  file_.close();
  if (!flushed || file_.fail()) return fail(cannot_write(path_, errno));
  if (written_ != target_ && std::rename(written_.c_str(), target_.c_str()) != 0)
    return fail(cannot_write(path_, errno));
  written_.clear();
  return {};
}

Result<void> write_output(const std::string& path,
                          const std::function<void(std::ostream&)>& write) {
  Result<OutputFile> file = OutputFile::open(path);
  if (!file) return fail(std::move(file.error()));
  write(file->stream());
  return file->commit();
}

}  // namespace pipecast

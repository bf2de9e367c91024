#include "sim/read/byte_source.hpp"

#include <zlib.h>

#include <array>
#include <filesystem>
#include <utility>

#include "sim/read/text_file.hpp"

namespace pipecast {

/// gzread passes what is not gzip through as it is.
struct ByteSource::File {
  gzFile handle = nullptr;
  std::array<char, std::size_t{1} << 18> block{};

  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (handle != nullptr) gzclose(handle);
  }
};

ByteSource::ByteSource() = default;
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

Result<ByteSource> ByteSource::open(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status) || std::filesystem::is_directory(status)) {
    Result<std::string> refused = read_text_file(path, 0);  // says what is wrong
    if (!refused) return fail(std::move(refused.error()));
  }
  ByteSource source;
  source.file_ = std::make_unique<File>();
  source.file_->handle = gzopen(path.c_str(), "rb");
  if (source.file_->handle == nullptr) return fail(input_error("'" + path + "' cannot be read"));
  gzbuffer(source.file_->handle, 1 << 18);
  source.refill();
  return source;
}

ByteSource ByteSource::of_text(std::string_view text) {
  ByteSource source;
  source.data_ = text.data();
  source.size_ = text.size();
  return source;
}

void ByteSource::refill() {
  if (file_ == nullptr) return;
  before_ += size_;
  position_ = size_ = 0;
  if (before_ > kMostBytes) return stop("is longer than 64 GiB");
  const int got =
      gzread(file_->handle, file_->block.data(), static_cast<unsigned>(file_->block.size()));
  int code = Z_OK;
  if (got <= 0) gzerror(file_->handle, &code);
  if (code == Z_BUF_ERROR) return stop("ends in the middle of its gzip stream");
  if (got < 0) return stop("has a damaged gzip stream");
  data_ = file_->block.data();
  size_ = static_cast<std::size_t>(got);
}

void ByteSource::stop(std::string reason) {
  if (fault_.empty()) fault_ = std::move(reason);
  position_ = size_ = 0;
  file_.reset();
}

void ByteSource::watch(char byte) {
  if (in_string_) {
    if (++string_length_ > kLongestString) fault_ = "holds a text of more than 1 MiB";
    if (!escaped_ && byte == '"') in_string_ = false;
    escaped_ = !escaped_ && byte == '\\';
  } else if (byte == '"') {
    in_string_ = true;
    string_length_ = 0;
  } else if (byte == '{' || byte == '[') {
    if (++depth_ > kDeepest) fault_ = "is nested deeper than 256 levels";
  } else if (byte == '}' || byte == ']') {
    --depth_;
  }
  if (fault_.empty()) return;
  size_ = position_ + 1;  // the next step is the end
  file_.reset();
}

}  // namespace pipecast

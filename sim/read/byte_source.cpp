#include "sim/read/byte_source.hpp"

#include <zlib.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "sim/read/text_file.hpp"

namespace pipecast {

/// A plain file, or gzip members one after the other.
struct ByteSource::File {
  std::FILE* handle = nullptr;
  z_stream inflater{};
  bool is_gzip = false;
  bool inside_member = false;  ///< of a gzip stream: its end has not come
  std::array<char, std::size_t{1} << 16> packed{};
  std::array<char, std::size_t{1} << 18> block{};

  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (handle != nullptr) std::fclose(handle);
    if (is_gzip) inflateEnd(&inflater);
  }

  static bool begins_member(const Bytef* bytes, std::size_t count) {
    return count >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
  }

  /// Keeps what the inflater has not taken at the front of `packed`. The number of bytes there.
  std::size_t fetch() {
    if (inflater.avail_in > 0) std::memmove(packed.data(), inflater.next_in, inflater.avail_in);
    const std::size_t got =
        std::fread(packed.data() + inflater.avail_in, 1, packed.size() - inflater.avail_in, handle);
    inflater.next_in = reinterpret_cast<Bytef*>(packed.data());
    inflater.avail_in += static_cast<uInt>(got);
    return inflater.avail_in;
  }

  /// Bytes inflated into `block`; what is wrong otherwise.
  tl::expected<std::size_t, std::string> unpack() {
    inflater.next_out = reinterpret_cast<Bytef*>(block.data());
    inflater.avail_out = static_cast<uInt>(block.size());
    while (inflater.avail_out == block.size()) {
      const std::size_t there = fetch();
      if (there == 0 && !inside_member) return std::size_t{0};
      if (there == 0) return tl::unexpected(std::string("ends in the middle of its gzip stream"));
      if (!inside_member && !begins_member(inflater.next_in, there))
        return tl::unexpected(std::string("goes on behind the end of its gzip stream"));
      inside_member = true;
      const int code = inflate(&inflater, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        inside_member = false;
        inflateReset(&inflater);
      } else if (code == Z_BUF_ERROR && std::feof(handle) != 0) {
        return tl::unexpected(std::string("ends in the middle of its gzip stream"));
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return tl::unexpected(std::string("has a damaged gzip stream"));
      }
    }
    return block.size() - inflater.avail_out;
  }

  tl::expected<std::size_t, std::string> next() {
    if (is_gzip) return unpack();
    return std::fread(block.data(), 1, block.size(), handle);
  }

  /// Looks at the first bytes, which stay to be read.
  bool begin() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (!begins_member(reinterpret_cast<const Bytef*>(packed.data()), fetch())) {
      inflater.avail_in = 0;
      return std::fseek(handle, 0, SEEK_SET) == 0;
    }
    is_gzip = inflateInit2(&inflater, kGzipOnly) == Z_OK;
    return is_gzip;
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
  source.file_->handle = std::fopen(path.c_str(), "rb");
  if (source.file_->handle == nullptr || !source.file_->begin())
    return fail(input_error("'" + path + "' cannot be read"));
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
  const auto got = file_->next();
  if (!got) return stop(got.error());
  data_ = file_->block.data();
  size_ = *got;
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
  } else if (byte == '\0') {
    fault_ = "holds a NUL byte";
  }
  if (fault_.empty()) return;
  size_ = position_ + 1;  // the next step is the end
  file_.reset();
}

}  // namespace pipecast

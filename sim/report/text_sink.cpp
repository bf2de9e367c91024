#include "sim/report/text_sink.hpp"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/utf8.hpp"
#include "sim/base/whole_number.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;
constexpr std::size_t kLongestNumber = 32;

}  // namespace

/// zlib's stream with a gzip header that holds no time and no name.
struct TextSink::Deflater {
  z_stream stream{};
  std::vector<unsigned char> output = std::vector<unsigned char>(kBufferBytes);
  bool ready = false;

  Deflater() {
    constexpr int kGzipWindow = 15 + 16;
    ready = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                         Z_DEFAULT_STRATEGY) == Z_OK;
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  ~Deflater() {
    if (ready) deflateEnd(&stream);
  }

  void write(std::ostream& out, const char* data, std::size_t size, int mode) {
    if (!ready) return out.setstate(std::ios::failbit);
    // zlib's interface is not const-correct; it does not write to its input.
    stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(data));
    stream.avail_in = static_cast<unsigned>(size);
    do {
      stream.next_out = output.data();
      stream.avail_out = static_cast<unsigned>(output.size());
      deflate(&stream, mode);
      out.write(reinterpret_cast<const char*>(output.data()),
                static_cast<std::streamsize>(output.size() - stream.avail_out));
    } while (stream.avail_out == 0);
  }
};

TextSink::TextSink(std::ostream& out, Compression compression) : out_(out), buffer_(kBufferBytes) {
  if (compression == Compression::Gzip) deflater_ = std::make_unique<Deflater>();
}

TextSink::~TextSink() { finish(); }

void TextSink::finish() {
  if (finished_) return;
  finished_ = true;
  if (deflater_)
    deflater_->write(out_, buffer_.data(), used_, Z_FINISH);
  else
    flush();
  used_ = 0;
}

void TextSink::flush() {
  if (deflater_)
    deflater_->write(out_, buffer_.data(), used_, Z_NO_FLUSH);
  else
    out_.write(buffer_.data(), static_cast<std::streamsize>(used_));
  used_ = 0;
}

TextSink& TextSink::text_in_pieces(std::string_view piece) {
  while (!piece.empty()) {
    if (room() == 0) flush();
    const std::size_t size = std::min(room(), piece.size());
    std::memcpy(buffer_.data() + used_, piece.data(), size);
    used_ += size;
    piece.remove_prefix(size);
  }
  return *this;
}

char* TextSink::reserve_number() {
  if (room() < kLongestNumber) flush();
  return buffer_.data() + used_;
}

TextSink& TextSink::integer(std::int64_t number) {
  char* begin = reserve_number();
  used_ +=
      static_cast<std::size_t>(std::to_chars(begin, begin + kLongestNumber, number).ptr - begin);
  return *this;
}

TextSink& TextSink::number(double number) {
  char* begin = reserve_number();
  if (!std::isfinite(number)) number = 0;
  const auto written =
      is_exact_integer(number)
          ? std::to_chars(begin, begin + kLongestNumber, static_cast<std::int64_t>(number))
          : std::to_chars(begin, begin + kLongestNumber, number);
  used_ += static_cast<std::size_t>(written.ptr - begin);
  return *this;
}

TextSink& TextSink::thousandths(std::int64_t thousandths) {
  char* begin = reserve_number();
  char* next = begin;
  if (thousandths < 0) *next++ = '-';
  const auto magnitude = static_cast<std::uint64_t>(std::abs(thousandths));
  next = std::to_chars(next, begin + kLongestNumber, magnitude / 1000).ptr;
  if (auto fraction = static_cast<unsigned>(magnitude % 1000); fraction != 0) {
    *next++ = '.';
    for (unsigned place = 100; fraction != 0; fraction %= place, place /= 10)
      *next++ = static_cast<char>('0' + fraction / place);
  }
  used_ += static_cast<std::size_t>(next - begin);
  return *this;
}

TextSink& TextSink::quoted(std::string_view piece) {
  constexpr std::string_view kHex = "0123456789abcdef";
  text("\"");
  while (!piece.empty()) {
    const std::size_t length = utf8_length(piece);
    const auto first = static_cast<unsigned char>(piece.front());
    if (length == 0)
      text("\xEF\xBF\xBD");
    else if (first == '"' || first == '\\')
      text("\\").text(piece.substr(0, 1));
    else if (first < 0x20)
      text("\\u00").text(kHex.substr(first >> 4, 1)).text(kHex.substr(first & 15U, 1));
    else
      text(piece.substr(0, length));
    piece.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text("\"");
}

}  // namespace pipecast

#include "sim/report/page_json.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "sim/base/utf8.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kShortList = 24;

bool needs_escape(unsigned char letter) {
  return letter < 0x20 || letter == '"' || letter == '\\' || letter == '<' || letter == '>' ||
         letter == '&';
}

void append_escape(std::string& text, unsigned char letter) {
  constexpr std::string_view kHex = "0123456789abcdef";
  text += "\\u00";
  text += kHex[letter >> 4];
  text += kHex[letter & 15U];
}

std::string deflated(const std::vector<unsigned char>& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string result(size, '\0');
  compress2(reinterpret_cast<Bytef*>(result.data()), &size, bytes.data(),
            static_cast<uLong>(bytes.size()), Z_DEFAULT_COMPRESSION);
  result.resize(size);
  return result;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j > bytes.size() ? '=' : kLetters[group >> (18 - 6 * j) & 63U];
  }
  return text;
}

/// The bytes of numbers, lowest first whatever the machine.
template <class Word>
std::vector<unsigned char> little_endian(std::span<const Word> words) {
  std::vector<unsigned char> bytes;
  bytes.reserve(words.size() * sizeof(Word));
  for (const Word word : words)
    for (std::size_t i = 0; i < sizeof(Word); ++i)
      bytes.push_back(static_cast<unsigned char>(word >> (8 * i)));
  return bytes;
}

}  // namespace

std::string deflate_base64(std::span<const unsigned char> bytes, std::size_t width) {
  std::vector<unsigned char> planes(bytes.size());
  const std::size_t count = bytes.size() / width;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t plane = 0; plane < width; ++plane)
      planes[plane * count + i] = bytes[i * width + plane];
  return base64(deflated(planes));
}

void PageJson::begin_value() {
  if (comma_) text_ += ',';
  comma_ = true;
}

PageJson& PageJson::open_object() {
  begin_value();
  text_ += '{';
  comma_ = false;
  return *this;
}

PageJson& PageJson::close_object() {
  text_ += '}';
  comma_ = true;
  return *this;
}

PageJson& PageJson::open_list() {
  begin_value();
  text_ += '[';
  comma_ = false;
  return *this;
}

PageJson& PageJson::close_list() {
  text_ += ']';
  comma_ = true;
  return *this;
}

PageJson& PageJson::key(std::string_view name) {
  text(name);
  text_ += ':';
  comma_ = false;
  return *this;
}

PageJson& PageJson::text(std::string_view value) {
  begin_value();
  text_ += '"';
  while (!value.empty()) {
    const std::size_t length = utf8_length(value);
    const auto first = static_cast<unsigned char>(value.front());
    if (length == 0)
      text_ += "\xEF\xBF\xBD";
    else if (needs_escape(first))
      append_escape(text_, first);
    else
      text_ += value.substr(0, length);
    value.remove_prefix(std::max<std::size_t>(length, 1));
  }
  text_ += '"';
  return *this;
}

PageJson& PageJson::number(double value) {
  begin_value();
  if (!std::isfinite(value)) {
    text_ += "null";
    return *this;
  }
  char digits[32];
  text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  return *this;
}

PageJson& PageJson::integer(std::int64_t value) {
  begin_value();
  text_ += std::to_string(value);
  return *this;
}

PageJson& PageJson::flag(bool value) { return raw(value ? "true" : "false"); }

PageJson& PageJson::raw(std::string_view json) {
  begin_value();
  text_ += json;
  return *this;
}

PageJson& PageJson::packed_bytes(std::string_view kind, std::size_t count, std::size_t width,
                                 std::span<const unsigned char> bytes) {
  open_object().key(kind).raw("\"" + deflate_base64(bytes, width) + "\"");
  return key("n").integer(static_cast<std::int64_t>(count)).close_object();
}

PageJson& PageJson::numbers(std::span<const double> values) {
  if (values.size() > kShortList) {
    std::vector<std::uint64_t> words;
    words.reserve(values.size());
    for (const double value : values) words.push_back(std::bit_cast<std::uint64_t>(value));
    return packed_bytes("f64", values.size(), 8, little_endian<std::uint64_t>(words));
  }
  open_list();
  for (const double value : values) number(value);
  return close_list();
}

PageJson& PageJson::packed(std::span<const std::uint32_t> values) {
  return packed_bytes("u32", values.size(), 4, little_endian(values));
}

PageJson& PageJson::packed_differences(std::span<const std::int32_t> values) {
  std::vector<std::uint32_t> steps;
  steps.reserve(values.size());
  std::uint32_t before = 0;
  for (const std::int32_t value : values) {
    const auto now = static_cast<std::uint32_t>(value);
    steps.push_back(now - before);  // wraps, and wraps back on reading
    before = now;
  }
  return packed_bytes("d32", values.size(), 4, little_endian<std::uint32_t>(steps));
}

PageJson& PageJson::packed(std::span<const std::uint8_t> values) {
  return packed_bytes("u8", values.size(), 1, values);
}

}  // namespace pipecast

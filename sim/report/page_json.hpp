#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipecast {

/// Builds JSON text that may stand inside a script element of HTML: `<` is written as its escape,
/// so no text can end the element or open a comment.
class PageJson {
 public:
  PageJson& open_object();
  PageJson& close_object();
  PageJson& open_list();
  PageJson& close_list();
  PageJson& key(std::string_view name);
  /// What is not UTF-8 becomes U+FFFD.
  PageJson& text(std::string_view value);
  /// Shortest text that reads back as the same double; null for what is not finite.
  PageJson& number(double value);
  PageJson& integer(std::int64_t value);
  PageJson& flag(bool value);
  /// Text that is JSON already.
  PageJson& raw(std::string_view json);

  /// Short lists as they are, long ones deflated: `{"f64":"…","n":…}`.
  PageJson& numbers(std::span<const double> values);
  /// Deflated: `{"u32":"…","n":…}`.
  PageJson& packed(std::span<const std::uint32_t> values);
  /// Deflated differences of each value to the one before it: `{"d32":"…","n":…}`.
  PageJson& packed_differences(std::span<const std::int32_t> values);
  PageJson& packed(std::span<const std::uint8_t> values);

  const std::string& str() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  void begin_value();
  PageJson& packed_bytes(std::string_view kind, std::size_t count, std::size_t width,
                         std::span<const unsigned char> bytes);

  std::string text_;
  bool comma_ = false;  ///< the next value of this list or object needs one before it
};

/// Base64 of the zlib stream of `bytes`, whose elements of `width` bytes are first taken apart into
/// planes: all first bytes, all second bytes and so on, which deflate far better.
std::string deflate_base64(std::span<const unsigned char> bytes, std::size_t width);

}  // namespace pipecast

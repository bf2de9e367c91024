#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <string_view>
#include <vector>

namespace pipecast {

enum class Compression : std::uint8_t { None, Gzip };

/// A buffered writer of text and numbers, optionally through gzip: what every exporter writes with.
/// Numbers are locale-free and the same on every run; the memory it takes is constant. A failure of
/// the underlying stream, or of the compressor, shows in the stream's state.
class TextSink {
 public:
  explicit TextSink(std::ostream& out, Compression compression = Compression::None);
  TextSink(const TextSink&) = delete;
  TextSink& operator=(const TextSink&) = delete;
  ~TextSink();

  TextSink& text(std::string_view piece) {
    if (piece.size() > room()) return text_in_pieces(piece);
    std::memcpy(buffer_.data() + used_, piece.data(), piece.size());
    used_ += piece.size();
    return *this;
  }
  TextSink& integer(std::int64_t number);
  /// Shortest decimal text that reads back as the same double; 0 for what is not finite, which JSON
  /// cannot say.
  TextSink& number(double number);
  /// `thousandths` ÷ 1000 without trailing zeros: 1500 → 1.5.
  TextSink& thousandths(std::int64_t thousandths);
  /// A JSON string with its quotes. What is not UTF-8 becomes U+FFFD.
  TextSink& quoted(std::string_view piece);

  /// Writes what is buffered and ends the compressed stream. Nothing may be written after it; the
  /// destructor calls it.
  void finish();

 private:
  struct Deflater;

  std::size_t room() const { return buffer_.size() - used_; }
  /// Room for one number of any kind.
  char* reserve_number();
  void flush();
  TextSink& text_in_pieces(std::string_view piece);

  std::ostream& out_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::unique_ptr<Deflater> deflater_;
  bool finished_ = false;
};

}  // namespace pipecast

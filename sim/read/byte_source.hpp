#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "sim/base/diagnostic.hpp"

namespace pipecast {

/// Bytes of a file, plain or gzip (told by its first bytes), or of a text, one after the other in
/// constant memory. Gzip members may follow each other, anything else behind one is a fault. JSON
/// is watched while it passes: a string longer than kLongestString or nesting deeper than kDeepest
/// ends the input, since a parser would hold it whole, and so does a NUL byte, which a parser would
/// take for the end.
class ByteSource {
 public:
  static constexpr std::size_t kLongestString = std::size_t{1} << 20;
  static constexpr int kDeepest = 256;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 30;  ///< after decompression

  static Result<ByteSource> open(const std::string& path);
  /// `text` must outlive it.
  static ByteSource of_text(std::string_view text);

  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  bool ended() const { return position_ == size_; }
  char current() const { return data_[position_]; }
  void advance() {
    watch(data_[position_]);
    if (++position_ == size_) refill();
  }
  std::uint64_t offset() const { return before_ + position_; }
  /// Why the input ended early, as a sentence; empty when it did not.
  const std::string& fault() const { return fault_; }

 private:
  struct File;

  ByteSource();
  void refill();
  void watch(char byte);
  void stop(std::string reason);

  std::unique_ptr<File> file_;
  const char* data_ = nullptr;
  std::size_t position_ = 0;
  std::size_t size_ = 0;
  std::uint64_t before_ = 0;
  std::string fault_;
  std::size_t string_length_ = 0;
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

/// Walks a source; equal to the default one at its end.
class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  ByteIterator() = default;
  explicit ByteIterator(ByteSource& source) : source_(&source) {}
  char operator*() const { return source_->current(); }
  ByteIterator& operator++() {
    source_->advance();
    return *this;
  }
  void operator++(int) { source_->advance(); }
  bool operator==(const ByteIterator& other) const { return ended() == other.ended(); }

 private:
  bool ended() const { return source_ == nullptr || source_->ended(); }

  ByteSource* source_ = nullptr;
};

}  // namespace pipecast

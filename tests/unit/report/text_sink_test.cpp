#include "sim/report/text_sink.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <sstream>

namespace pipecast {
namespace {

std::string unpacked(const std::string& packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string result(1 << 22, '\0');
  std::string input = packed;
  stream.next_in = reinterpret_cast<unsigned char*>(input.data());
  stream.avail_in = static_cast<unsigned>(input.size());
  stream.next_out = reinterpret_cast<unsigned char*>(result.data());
  stream.avail_out = static_cast<unsigned>(result.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  inflateEnd(&stream);
  return result;
}

template <class Write>
std::string written(Write write, Compression compression = Compression::None) {
  std::ostringstream out;
  {
    TextSink sink(out, compression);
    write(sink);
  }
  return out.str();
}

TEST(TextSink, WritesNumbersWithoutTrailingZeros) {
  EXPECT_EQ(written([](TextSink& sink) {
              sink.thousandths(1500).text(" ").thousandths(-7).text(" ").thousandths(0).text(" ");
              sink.thousandths(123456789012).text(" ").thousandths(1010).text(" ").number(0.1);
              sink.text(" ").integer(-3).text(" ").number(1.0 / 0.0);
            }),
            "1.5 -0.007 0 123456789.012 1.01 0.1 -3 0");
}

TEST(TextSink, EscapesWhatJsonCannotHold) {
  EXPECT_EQ(written([](TextSink& sink) { sink.quoted("a\"\\\n\x01 é\xff\xc3"); }),
            "\"a\\\"\\\\\\u000a\\u0001 é\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(TextSink, TakesPiecesLongerThanItsBuffer) {
  const std::string piece(200'000, 'x');
  const auto write = [&](TextSink& sink) { sink.text("<").text(piece).integer(7).text(">"); };
  EXPECT_EQ(written(write), "<" + piece + "7>");
}

TEST(TextSink, GzipHoldsTheSameBytes) {
  const auto write = [](TextSink& sink) {
    for (int i = 0; i < 100'000; ++i) sink.integer(i).text("\n");
  };
  const std::string packed = written(write, Compression::Gzip);
  EXPECT_LT(packed.size(), written(write).size() / 2);
  EXPECT_EQ(unpacked(packed), written(write));
  EXPECT_EQ(packed.substr(0, 8), std::string("\x1f\x8b\x08\0\0\0\0\0", 8));  // no time, no name
}

TEST(TextSink, GzipOfNothingIsAValidFile) {
  EXPECT_EQ(unpacked(written([](TextSink&) {}, Compression::Gzip)), "");
}

}  // namespace
}  // namespace pipecast

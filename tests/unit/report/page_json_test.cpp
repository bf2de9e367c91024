#include "sim/report/page_json.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <limits>

namespace pipecast {
namespace {

std::vector<unsigned char> from_base64(const std::string& text) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned char> bytes;
  unsigned group = 0;
  int bits = 0;
  for (const char letter : text) {
    if (letter == '=') break;
    group = group << 6 | static_cast<unsigned>(letters.find(letter));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<unsigned char>(group >> bits));
  }
  return bytes;
}

std::vector<unsigned char> inflated(const std::string& base64, std::size_t size) {
  const std::vector<unsigned char> packed = from_base64(base64);
  std::vector<unsigned char> bytes(size + 1);
  uLongf length = bytes.size();
  EXPECT_EQ(uncompress(bytes.data(), &length, packed.data(), packed.size()), Z_OK);
  bytes.resize(length);
  return bytes;
}

TEST(PageJson, WritesNestedValuesWithTheirCommas) {
  PageJson json;
  json.open_object().key("a").open_list().integer(1).text("x").open_list().close_list();
  json.flag(true).close_list().key("b").number(0.5).key("c").open_object().close_object();
  json.close_object();
  EXPECT_EQ(json.str(), R"({"a":[1,"x",[],true],"b":0.5,"c":{}})");
}

TEST(PageJson, EscapesWhatCouldEndTheScriptElement) {
  PageJson json;
  json.text("</script><!--&\"\\\n\t\x01 \xC3\xA9\xFF");
  EXPECT_EQ(json.str(),
            "\"\\u003c/script\\u003e\\u003c!--\\u0026\\u0022\\u005c\\u000a\\u0009\\u0001 "
            "\xC3\xA9\xEF\xBF\xBD\"");
}

TEST(PageJson, WritesNullForWhatIsNoNumber) {
  PageJson json;
  json.open_list().number(std::numeric_limits<double>::infinity()).number(-0.25).close_list();
  EXPECT_EQ(json.str(), "[null,-0.25]");
}

TEST(PageJson, LeavesShortListsReadable) {
  PageJson json;
  json.numbers(std::array{1.0, 2.5});
  EXPECT_EQ(json.str(), "[1,2.5]");
}

TEST(PageJson, PacksDifferencesThatWrap) {
  PageJson json;
  json.packed_differences(std::array<std::int32_t, 3>{5, -1, std::numeric_limits<int>::min()});
  const std::string text = json.str();
  EXPECT_EQ(text.substr(0, 8), R"({"d32":")");
  EXPECT_EQ(text.substr(text.size() - 7), R"(,"n":3})");
  const auto planes = inflated(text.substr(8, text.rfind("\",") - 8), 12);
  // 5, −6, 2³¹ + 1 … little endian, plane by plane
  const std::vector<unsigned char> expected = {5, 0xfa, 1, 0, 0xff, 0, 0, 0xff, 0, 0, 0xff, 0x80};
  EXPECT_EQ(planes, expected);
}

TEST(DeflateBase64, PadsEveryLength) {
  for (std::size_t size = 0; size < 40; ++size) {
    std::vector<unsigned char> bytes;
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<unsigned char>(i * 77));
    const std::string text = deflate_base64(bytes, 1);
    EXPECT_EQ(text.size() % 4, 0U);
    EXPECT_EQ(inflated(text, size), bytes);
  }
}

}  // namespace
}  // namespace pipecast

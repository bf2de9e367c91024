#include "sim/base/diagnostic.hpp"

#include <gtest/gtest.h>

namespace pipecast {
namespace {

Diagnostic at(const std::string& line, int column, int length) {
  return input_error("wrong", {}, {"f", 1, column, length, line});
}

TEST(Render, PointsAtTheSpan) {
  EXPECT_EQ(render(at("ranks: 010", 8, 3)),
            "f:1:8: error: wrong\n"
            "  ranks: 010\n"
            "         ^~~\n");
}

TEST(Render, KeepsTabsAndCountsCharactersNotBytes) {
  EXPECT_EQ(render(at("\tgr\xc3\xbcn: x", 8, 1)),
            "f:1:8: error: wrong\n"
            "  \tgr\xc3\xbcn: x\n"
            "  \t     ^\n");
}

TEST(Render, ASpanEndsWithItsLine) {
  EXPECT_EQ(render(at("ab", 2, 9)), "f:1:2: error: wrong\n  ab\n   ^\n");
  EXPECT_EQ(render(at("ab", 3, 9)), "f:1:3: error: wrong\n  ab\n    ^\n");
}

TEST(Render, ShowsAPieceOfALongLineAndSplitsNoCharacter) {
  std::string line;
  for (int i = 0; i < 300; ++i) line += "\xc3\xbc";
  const std::string text = render(at(line + "!" + line, 601, 1));
  const std::string shown = text.substr(text.find('\n') + 3);
  EXPECT_EQ(shown.substr(0, 2), "\xc3\xbc");
  const std::size_t end = shown.find('\n');
  EXPECT_LE(end, 162U);
  EXPECT_EQ(shown.substr(end - 2, 2), "\xc3\xbc");
}

TEST(Suggest, NamesWhatIsNearOrAllThereIs) {
  const std::vector<std::string> words{"ranks", "chunks"};
  EXPECT_EQ(suggest("rank", words), "did you mean 'ranks'?");
  EXPECT_EQ(suggest("CHUNKS", words), "did you mean 'chunks'?");
  EXPECT_EQ(suggest("colour", words), "one of: ranks, chunks");
}

}  // namespace
}  // namespace pipecast

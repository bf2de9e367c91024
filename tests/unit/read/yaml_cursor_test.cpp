#include "sim/read/yaml_cursor.hpp"

#include <gtest/gtest.h>

namespace pipecast {
namespace {

using Strings = std::vector<std::string>;

Strings lines(const Diagnostics& faults) {
  Strings list;
  for (const Diagnostic& fault : faults)
    list.push_back(std::to_string(fault.where.line) + ":" + std::to_string(fault.where.column) +
                   ": " + fault.message);
  return list;
}

Strings parse_faults(const std::string& text) {
  const auto document = parse_yaml(text, "f.yaml");
  return document ? Strings{} : lines(document.error());
}

YamlDocument parsed(const std::string& text) {
  auto document = parse_yaml(text, "f.yaml");
  EXPECT_TRUE(document) << (document ? "" : render(document.error()));
  return document ? std::move(*document) : YamlDocument{};
}

TEST(ParseYaml, KeepsTheTextOfScalarsAndTheirPlace) {
  const YamlDocument document = parsed("a: 010\r\nb: \"x y\"\nc: &n 5 us\n");
  ASSERT_EQ(document.root.entries.size(), 3U);
  const YamlNode& octal = document.root.entries[0].value;
  EXPECT_EQ(octal.text, "010");
  EXPECT_EQ(octal.mark.line, 1);
  EXPECT_EQ(octal.mark.column, 4);
  EXPECT_EQ(octal.mark.length, 3);
  EXPECT_EQ(document.root.entries[1].value.mark.length, 5);
  EXPECT_EQ(document.root.entries[2].value.mark.column, 7);
  EXPECT_EQ(document.span(octal.mark).source_line, "a: 010");
}

TEST(ParseYaml, ByteOrderMarkIsSkipped) {
  EXPECT_EQ(parsed("\xEF\xBB\xBF"
                   "a: 1")
                .root.entries[0]
                .key,
            "a");
}

TEST(ParseYaml, RepeatedKeysNameBothLines) {
  EXPECT_EQ(parse_faults("a: 1\nb: {c: 1, c: 2}\na: 3\n"),
            (Strings{"2:11: 'c' is given twice; the first is on line 2",
                     "3:1: 'a' is given twice; the first is on line 1"}));
}

TEST(ParseYaml, AliasesAreCopiesThatKnowTheirLine) {
  const YamlDocument document = parsed("a: &x {b: 1}\nc: *x\n");
  const YamlNode& copy = document.root.entries[1].value;
  ASSERT_EQ(copy.entries.size(), 1U);
  EXPECT_EQ(copy.alias_line, 2);
  EXPECT_EQ(copy.mark.line, 1);
}

TEST(ParseYaml, FaultsBehindAnAliasSayWhereItIsUsed) {
  const YamlDocument document = parsed("a: &x nonsense\nb: *x\n");
  FaultList faults;
  YamlCursor::root(document, faults).find("b")->integer(0, 9);
  const Diagnostics list = faults.take("f.yaml");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].where.line, 1);
  EXPECT_EQ(list[0].hint, "used through the alias on line 2");
}

TEST(ParseYaml, RefusesWhatMeansSomethingElseThanItSeems) {
  EXPECT_EQ(parse_faults("a: &x {b: 1}\nc: {<<: *x}\n"),
            Strings{"2:5: merge keys '<<' are not supported"});
  EXPECT_EQ(parse_faults("a: !!int 3\n"), Strings{"1:10: the tag '!!int' has no meaning here"});
  EXPECT_EQ(parse_faults("[a, b]: 1\n"), Strings{"1:1: a key must be plain text"});
  EXPECT_EQ(parse_faults("a: &x [*x]\n"), Strings{"1:8: the alias stands inside its own anchor"});
  EXPECT_EQ(parse_faults("a: 1\n---\nb: 2\n"),
            Strings{"2:1: a second document begins here; a file holds one"});
}

TEST(ParseYaml, TheParserTakesTheEndForAQuoteAndWeDoNot) {
  EXPECT_EQ(parse_faults("a: \"unclosed\nb: 2\n"),
            Strings{"1:4: the quotation mark is never closed"});
  EXPECT_EQ(parse_faults("a: 'it''s\n"), Strings{"1:4: the quotation mark is never closed"});
  EXPECT_EQ(parsed("a: 'it''s'\n").root.entries[0].value.text, "it's");
  EXPECT_EQ(parsed("a: \"\\\"\"\n").root.entries[0].value.text, "\"");
}

TEST(ParseYaml, UnclosedListsAndMapsPointAtTheirBegin) {
  EXPECT_EQ(parse_faults("a: 1\nb: [1, 2\n"), Strings{"2:4: the list is never closed"});
  EXPECT_EQ(parse_faults("a: {b: 1\n"), Strings{"1:4: the map is never closed"});
  EXPECT_EQ(parse_faults("["), Strings{"1:1: the list is never closed"});
}

TEST(ParseYaml, EmptyTexts) {
  EXPECT_EQ(parse_faults(""), Strings{"0:0: the file is empty"});
  EXPECT_EQ(parse_faults("# only a comment\n"), Strings{"0:0: the file is empty"});
}

TEST(ParseYaml, SizesAreBounded) {
  EXPECT_EQ(parse_faults(std::string(kMaxYamlBytes + 1, ' ')),
            Strings{"0:0: the text is larger than 16 MiB"});
  const std::string deep = "a: " + std::string(100, '[') + std::string(100, ']');
  EXPECT_EQ(parse_faults(deep), Strings{"1:67: nested deeper than 64 levels"});
}

TEST(ParseYaml, AliasesOfAliasesAreCountedAndBounded) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string self = "a" + std::to_string(i);
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += self + ": &" + self + " [" + before;
    for (int j = 1; j < 10; ++j) laughs += ", " + before;
    laughs += "]\n";
  }
  const Strings faults = parse_faults(laughs);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_NE(faults[0].find("more than 2097152 values in one file"), std::string::npos);
}

TEST(ParseYaml, DepthBehindAliasesIsBounded) {
  std::string chain = "a0: &a0 x\n";
  for (int i = 1; i < 100; ++i)
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
             "]\n";
  const Strings faults = parse_faults(chain);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_NE(faults[0].find("nested deeper than 64 levels"), std::string::npos);
}

TEST(OverrideYaml, PutsAndMakesValues) {
  YamlDocument document = parsed("a: {b: 1}\nl: [1, 2]\n");
  EXPECT_TRUE(override_yaml(document, "a.b", "2").empty());
  EXPECT_TRUE(override_yaml(document, "x.y.z", "{q: 3}").empty());
  EXPECT_TRUE(override_yaml(document, "l.1", "7").empty());
  FaultList faults;
  const YamlCursor root = YamlCursor::root(document, faults);
  EXPECT_EQ(root.find("a")->find("b")->integer(0, 9), 2);
  EXPECT_EQ(root.find("x")->find("y")->find("z")->find("q")->integer(0, 9), 3);
  EXPECT_EQ(root.find("l")->item(1).integer(0, 9), 7);
  EXPECT_TRUE(faults.empty());
}

TEST(OverrideYaml, FaultsPointIntoTheOption) {
  YamlDocument document = parsed("a: {b: 1}\n");
  ASSERT_TRUE(override_yaml(document, "a.b", "x").empty());
  FaultList faults;
  YamlCursor::root(document, faults).find("a")->find("b")->integer(0, 9);
  const Diagnostics list = faults.take("f.yaml");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(render(list),
            "--set:1:5: error: a.b: 'x' is not a whole number\n"
            "  a.b=x\n"
            "      ^\n");
}

TEST(OverrideYaml, RefusesPathsThatLeadNowhere) {
  YamlDocument document = parsed("a: 1\nl: [1]\n");
  EXPECT_EQ(lines(override_yaml(document, "a.b", "1")),
            Strings{"1:1: 'a' is a single value, it has no 'b'"});
  EXPECT_EQ(lines(override_yaml(document, "l.1", "1")),
            Strings{"1:1: 'l' is a list of 1; '1' is not one of its elements"});
  EXPECT_EQ(lines(override_yaml(document, "a..b", "1")),
            Strings{"1:1: the key path has an empty part"});
  EXPECT_EQ(lines(override_yaml(document, "", "1")),
            Strings{"1:1: the key path has an empty part"});
  EXPECT_EQ(lines(override_yaml(document, "a", "[1")), Strings{"1:3: the list is never closed"});
}

TEST(YamlCursor, UnknownKeysAreAllReportedWithSuggestions) {
  const YamlDocument document = parsed("rank: 4\nfoo: 1\n");
  FaultList faults;
  YamlCursor::root(document, faults).expect_map({"ranks", "chunks"});
  const Diagnostics list = faults.take("f.yaml");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].message, "unknown key 'rank'");
  EXPECT_EQ(list[0].hint, "did you mean 'ranks'?");
  EXPECT_EQ(list[1].hint, "one of: ranks, chunks");
}

TEST(YamlCursor, FaultsBeyondTheLimitAreCounted) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  const YamlDocument document = parsed(text);
  FaultList faults;
  YamlCursor::root(document, faults).expect_map({"ranks"});
  const Diagnostics list = faults.take("f.yaml");
  ASSERT_EQ(list.size(), FaultList::kMaxFaults + 1);
  EXPECT_EQ(list.back().message, "and 4900 more faults");
}

TEST(YamlCursor, MissingAndEmptyKeys) {
  const YamlDocument document = parsed("a:\nb: {c: ~}\n");
  FaultList faults;
  const YamlCursor root = YamlCursor::root(document, faults);
  EXPECT_FALSE(root.find("a"));
  EXPECT_FALSE(root.find("b")->find("c"));
  EXPECT_FALSE(root.require("d", "a number"));
  EXPECT_FALSE(root.find("e"));
  EXPECT_EQ(
      lines(faults.take("f.yaml")),
      (Strings{"1:1: a has no value", "1:1: the file lacks the key 'd'", "2:5: b.c has no value"}));
}

TEST(YamlCursor, FieldsFillDefaultsAndAskForWhatHasNone) {
  const std::vector<FieldInfo> table{
      {"given", FieldKind::Time, 0, 1, "0 s", "", {}},
      {"left_out", FieldKind::Integer, 0, 9, "3", "", {}},
      {"needed", FieldKind::Integer, 1, 9, "0", "a count", {}},
  };
  const YamlDocument document = parsed("given: 5 ms\n");
  FaultList faults;
  const FieldValues values = YamlCursor::root(document, faults).fields(table);
  EXPECT_EQ(std::get<double>(values.at("given")), 0.005);
  EXPECT_EQ(std::get<std::int64_t>(values.at("left_out")), 3);
  EXPECT_EQ(lines(faults.take("f.yaml")), Strings{"1:1: the file lacks the key 'needed'"});
}

TEST(YamlCursor, KeySpansListEveryMapKey) {
  const auto spans = key_spans(parsed("a: {b: 1}\nc: [1, {d: 2}]\n"));
  Strings paths;
  for (const auto& [path, span] : spans) paths.push_back(path);
  EXPECT_EQ(paths, (Strings{"a", "a.b", "c"}));
}

TEST(FaultList, CountsWhatItDoesNotShow) {
  FaultList faults;
  for (int i = 0; i < 120; ++i) faults.add(input_error("x"));
  EXPECT_EQ(faults.size(), 120U);
  const Diagnostics list = faults.take("f");
  ASSERT_EQ(list.size(), 101U);
  EXPECT_EQ(list.back().message, "and 20 more faults");
}

TEST(TextFault, FindsTheFirstByteThatIsNotText) {
  EXPECT_FALSE(text_fault("grün\tja\r\n", "f"));
  EXPECT_EQ(text_fault(std::string_view("a\nb\0c", 5), "f")->message, "the file holds a NUL byte");
  EXPECT_EQ(text_fault("a\nbc\xff", "f")->where.column, 3);
  EXPECT_EQ(text_fault("\xc0\xaf", "f")->message, "the file is not UTF-8 text");
  EXPECT_EQ(text_fault("\xed\xa0\x80", "f")->message, "the file is not UTF-8 text");
  EXPECT_EQ(text_fault("a\x07", "f")->message, "the file holds the control character 0x07");
}

TEST(Shown, CutsAndEscapes) {
  EXPECT_EQ(shown("a\nb\xff"), "a\\x0ab\\xff");
  EXPECT_EQ(shown(std::string(50, 'x')), std::string(40, 'x') + "...");
}

}  // namespace
}  // namespace pipecast

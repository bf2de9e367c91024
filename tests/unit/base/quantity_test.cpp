#include "sim/base/quantity.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pipecast {
namespace {

TEST(Quantity, ParsesEveryUnitToItsBase) {
  EXPECT_DOUBLE_EQ(parse_quantity("601 us", Dimension::Time).value(), 601e-6);
  EXPECT_DOUBLE_EQ(parse_quantity("18.522ms", Dimension::Time).value(), 18.522e-3);
  EXPECT_DOUBLE_EQ(parse_quantity("1.5 KiB", Dimension::Memory).value(), 1536);
  EXPECT_DOUBLE_EQ(parse_quantity("1 GB", Dimension::Memory).value(), 1e9);
  EXPECT_DOUBLE_EQ(parse_quantity("400 Gb/s", Dimension::Bandwidth).value(), 50e9);
  EXPECT_DOUBLE_EQ(parse_quantity("450 GB/s", Dimension::Bandwidth).value(), 450e9);
  EXPECT_DOUBLE_EQ(parse_quantity("989 TFLOP/s", Dimension::Compute).value(), 989e12);
  EXPECT_DOUBLE_EQ(parse_quantity("1e3 W", Dimension::Power).value(), 1000);
}

TEST(Quantity, SubunitsAreTheNearestDouble) {
  EXPECT_EQ(parse_quantity("200 us", Dimension::Time).value(), 200e-6);
  EXPECT_EQ(parse_quantity("601 us", Dimension::Time).value(), 601e-6);
  EXPECT_EQ(parse_quantity("7 ns", Dimension::Time).value(), 7e-9);
}

TEST(Quantity, RoundsBytesToWholeOnes) {
  EXPECT_EQ(parse_quantity("1.2 GiB", Dimension::Memory).value(), 1288490189.0);
}

TEST(Quantity, SaysWhatIsWrong) {
  EXPECT_EQ(parse_quantity("12", Dimension::Time).error(),
            "'12' needs a unit: one of ns, us, ms, s");
  EXPECT_EQ(parse_quantity("12 min", Dimension::Time).error(),
            "unknown unit 'min': one of ns, us, ms, s");
  EXPECT_EQ(parse_quantity("fast", Dimension::Time).error(), "'fast' is not a number");
  EXPECT_EQ(parse_quantity("", Dimension::Time).error(), "a number is missing");
  EXPECT_EQ(parse_number("0x10").error(), "'0x10' is hexadecimal; write a decimal number");
  EXPECT_EQ(parse_integer("010").error(), "'010' has a leading zero; write a decimal number");
  EXPECT_EQ(parse_integer("12abc").error(), "'12abc' is not a whole number");
}

TEST(Quantity, RefusesWhatIsNotFinite) {
  for (const char* text : {"inf", "nan", ".nan", "-inf", "1e999"})
    EXPECT_FALSE(parse_number(text)) << text;
}

TEST(Quantity, FormatsWithTheUnitThatReadsBest) {
  EXPECT_EQ(format(Seconds{601e-6}), "601 us");
  EXPECT_EQ(format(Seconds{1.456749}), "1.45675 s");
  EXPECT_EQ(format(Bytes{1288490188.8}), "1.20 GiB");
  EXPECT_EQ(format(BytesPerSecond{50e9}), "50 GB/s");
  EXPECT_EQ(format(BytesPerSecond{20349.7e9}), "20350 GB/s");
  EXPECT_EQ(format(Seconds{(3.6e-6 - 1.6e-6) / 2}), "1 us");
  EXPECT_EQ(format(Seconds{0.99999999e-3}), "1 ms");
}

TEST(Quantity, NumbersReadBackTheSame) {
  for (const double number : {0.1, 1.0 / 3.0, 1e-300, 123456789.125, 1456749.0})
    EXPECT_EQ(parse_number(format_number(number)).value(), number);
}

TEST(Quantity, CountsOfBytesAreWrittenAsIntegers) {
  EXPECT_EQ(format_number(1e9), "1000000000");
  EXPECT_EQ(format_number(-3e15), "-3000000000000000");
  EXPECT_EQ(format_number(-0.0), "0");
  EXPECT_EQ(format_number(1e300), "1e+300");
}

}  // namespace
}  // namespace pipecast

#include "sim/model/accelerator.hpp"

#include <gtest/gtest.h>

namespace pipecast {
namespace {

Accelerator blank() {
  Accelerator accelerator;
  accelerator.id = "x1";
  accelerator.name = "Maker X1";
  accelerator.figures.resize(property_table().size());
  return accelerator;
}

std::optional<Figure>& figure(Accelerator& accelerator, Property property) {
  return accelerator.figures[static_cast<std::size_t>(property)];
}

TEST(Accelerator, TheTableFollowsTheEnumeration) {
  for (std::size_t i = 0; i < property_table().size(); ++i)
    EXPECT_EQ(static_cast<std::size_t>(property_table()[i].property), i);
}

TEST(Accelerator, KnownNumbersCarryTheirUnit) {
  Accelerator accelerator = blank();
  figure(accelerator, Property::PeakBf16) = Figure{989.4e12, "data sheet", Certainty::Vendor, ""};
  EXPECT_EQ(known_rate(accelerator, Property::PeakBf16)->value, 989.4e12);
  EXPECT_TRUE(check(accelerator).empty());
}

TEST(Accelerator, AMissingNumberSaysSo) {
  Accelerator accelerator = blank();
  EXPECT_EQ(render(known_bandwidth(accelerator, Property::MemoryBandwidth).error()),
            "error: the memory bandwidth of Maker X1 is not known\n");
  figure(accelerator, Property::PeakFp8) = Figure{{}, "", Certainty::Memory, "not supported"};
  EXPECT_EQ(known_rate(accelerator, Property::PeakFp8).error().front().hint, "not supported");
  figure(accelerator, Property::MemoryNominal) = Figure{80e9, "", Certainty::Vendor, ""};
  EXPECT_EQ(known_bytes(accelerator, Property::MemoryReported).error().front().hint,
            "only the nominal memory is known");
}

TEST(Accelerator, CheckRefusesImpossibleNumbers) {
  Accelerator accelerator = blank();
  figure(accelerator, Property::Power) = Figure{-1.0, "", Certainty::Memory, ""};
  accelerator.prices.push_back({"device", Dollars{3}, Dollars{2}, "2026", "", {}, ""});
  EXPECT_EQ(check(accelerator).size(), 2u);
  EXPECT_EQ(check(accelerator).front().message, "accelerator x1: power must be greater than 0");
}

}  // namespace
}  // namespace pipecast

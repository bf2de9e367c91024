#include "sim/read/accelerator.hpp"

#include <gtest/gtest.h>

namespace pipecast {
namespace {

constexpr std::string_view kGood = R"(name: Maker X1
vendor: Maker
scale_up: XLink
peak_bf16: {value: 989.4 TFLOP/s, source: data sheet, certainty: vendor, note: dense}
peak_fp8: {value: unknown, source: data sheet, certainty: vendor}
power: {value: 0.7 kW, source: data sheet, certainty: vendor}
prices:
  - {what: device hour, low: 2 USD, high: 3.5 USD, date: "2026-05", source: a page, certainty: secondary}
)";

std::string faults_of(std::string_view text) {
  const auto read = read_accelerator(text, "x1.yaml");
  return read ? "" : render(read.error());
}

TEST(ReadAccelerator, ReadsNumbersWithTheirSource) {
  const auto read = read_accelerator(kGood, "catalogue/x1.yaml");
  ASSERT_TRUE(read) << render(read.error());
  EXPECT_EQ(read->id, "x1");
  EXPECT_EQ(read->scale_up, "XLink");
  EXPECT_EQ(known_rate(*read, Property::PeakBf16)->value, 989.4e12);
  EXPECT_EQ(known_power(*read, Property::Power)->value, 700);
  EXPECT_FALSE(known_rate(*read, Property::PeakFp8));
  EXPECT_FALSE(known_bytes(*read, Property::MemoryReported));
  const auto& peak = read->figures[static_cast<std::size_t>(Property::PeakBf16)];
  EXPECT_EQ(peak->source, "data sheet");
  EXPECT_EQ(peak->note, "dense");
  ASSERT_EQ(read->prices.size(), 1u);
  EXPECT_EQ(read->prices[0].high.value, 3.5);
  EXPECT_EQ(read->prices[0].certainty, Certainty::Secondary);
}

TEST(ReadAccelerator, ReportsEveryFaultWithItsPlace) {
  const std::string faults = faults_of(R"(name: Maker X1
vendr: Maker
peak_bf16: {value: 989.4, source: data sheet, certainty: vendor}
power: {value: 700 W, certainty: sure}
)");
  EXPECT_NE(faults.find("x1.yaml:2:1: error: unknown key 'vendr'"), std::string::npos) << faults;
  EXPECT_NE(faults.find("did you mean 'vendor'?"), std::string::npos) << faults;
  EXPECT_NE(faults.find("x1.yaml:3:20: error: '989.4' needs a unit"), std::string::npos) << faults;
  EXPECT_NE(faults.find("x1.yaml:4:1: error: power lacks the key 'source'"), std::string::npos);
  EXPECT_NE(faults.find("x1.yaml:4:34: error: power.certainty cannot be 'sure'"),
            std::string::npos);
}

TEST(ReadAccelerator, RefusesNumbersThatCannotBe) {
  EXPECT_NE(faults_of("name: X\nvendor: Y\npower: {value: 0 W, source: s, certainty: memory}\n")
                .find("power must be greater than 0"),
            std::string::npos);
}

TEST(FindAccelerator, SuggestsANameOfTheCatalogue) {
  const std::vector<std::string> folders{std::string(PIPECAST_SOURCE_DIR) + "/platforms"};
  const auto found = find_accelerator("h100_sxm5_80bg", folders);
  ASSERT_FALSE(found);
  EXPECT_EQ(
      render(found.error()),
      "error: unknown accelerator 'h100_sxm5_80bg'\n  hint: did you mean 'h100_sxm5_80gb'?\n");
}

TEST(FindAccelerator, GivesTheRecordOfEveryDevice) {
  const std::vector<std::string> folders{std::string(PIPECAST_SOURCE_DIR) + "/platforms"};
  Platform platform;
  platform.devices = {{"a", "h100_sxm5_80gb", Bytes{}, 1.0},
                      {"b", "", Bytes{}, 1.0},
                      {"c", "ascend_910b1", Bytes{}, 1.0},
                      {"d", "h100_sxm5_80gb", Bytes{}, 1.0}};
  const auto records = accelerators_of(platform, folders);
  ASSERT_TRUE(records) << render(records.error());
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ(known_rate(records->at("h100_sxm5_80gb"), Property::PeakBf16)->value, 989.4e12);
  EXPECT_EQ(memory_of(records->at("h100_sxm5_80gb"))->value, 85520809984);  // as reported
  EXPECT_EQ(memory_of(records->at("ascend_910b1"))->value, 65536.0 * 1048576);
  platform.devices[1].accelerator = "h101";
  EXPECT_NE(render(accelerators_of(platform, folders).error()).find("unknown accelerator 'h101'"),
            std::string::npos);
}

TEST(FindAccelerator, EveryFileOfTheCatalogueReads) {
  const std::vector<std::string> folders{std::string(PIPECAST_SOURCE_DIR) + "/platforms"};
  const std::vector<std::string> ids = accelerator_ids(folders);
  EXPECT_EQ(ids.size(), 39u);
  for (const std::string& id : ids) {
    const auto read = find_accelerator(id, folders);
    ASSERT_TRUE(read) << render(read.error());
    EXPECT_EQ(read->id, id);
    EXPECT_TRUE(known_bytes(*read, Property::MemoryNominal)) << id;
  }
}

}  // namespace
}  // namespace pipecast

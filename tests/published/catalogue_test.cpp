#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "sim/read/accelerator.hpp"
#include "tests/support/csv_table.hpp"

namespace pipecast {
namespace {

/// Issue 4, item 1: every device, every number and every certainty of the hardware reference is in
/// the catalogue, and what is unknown there is unknown here.
TEST(Catalogue, CarriesEveryNumberOfTheReference) {
  const std::vector<std::string> folders{std::string(PIPECAST_SOURCE_DIR) + "/platforms"};
  std::map<std::string, Accelerator> read;
  int unknown = 0;
  for (const test::CsvRow& row :
       test::read_csv_table(std::string(PIPECAST_TEST_DIR) + "/published/data/accelerators.csv")) {
    const std::string& id = row.text("accelerator");
    const std::string where = id + " " + row.text("property");
    if (!read.contains(id)) {
      Result<Accelerator> record = find_accelerator(id, folders);
      ASSERT_TRUE(record) << render(record.error());
      read.emplace(id, std::move(*record));
    }
    const auto table = property_table();
    const auto info = std::find_if(table.begin(), table.end(), [&](const PropertyInfo& property) {
      return property.key == row.text("property");
    });
    ASSERT_NE(info, table.end()) << where;
    const auto& figure = read.at(id).figures[static_cast<std::size_t>(info->property)];
    ASSERT_TRUE(figure) << where;
    EXPECT_EQ(word_of(figure->certainty), row.text("certainty")) << where;
    EXPECT_FALSE(figure->source.empty()) << where;
    const Result<double> value = known(read.at(id), info->property);
    if (row.text("value") == "unknown") {
      ++unknown;
      ASSERT_FALSE(value) << where;
      EXPECT_NE(value.error().front().message.find("is not known"), std::string::npos) << where;
    } else {
      ASSERT_TRUE(value) << where;
      EXPECT_DOUBLE_EQ(*value, row.number("value")) << where;
    }
  }
  EXPECT_EQ(read.size(), 39u);
  EXPECT_GT(unknown, 30);
}

}  // namespace
}  // namespace pipecast

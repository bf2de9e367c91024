#include "sim/study/store.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdio>
#include <filesystem>

namespace pipecast {
namespace {

/// A database made by somebody else with these statements.
class Foreign {
 public:
  explicit Foreign(const char* statements) {
    std::remove(path().c_str());
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, statements, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
  ~Foreign() { std::remove(path().c_str()); }
  std::string path() const { return testing::TempDir() + "store_test.db"; }
};

/// What a kill leaves between the first page and the tables: the study starts over.
TEST(Store, ADatabaseWithNothingInItIsNew) {
  const Foreign blank("PRAGMA journal_mode = WAL; VACUUM;");
  ASSERT_GT(std::filesystem::file_size(blank.path()), 0U);
  EXPECT_FALSE(Store::open(blank.path(), StoreAccess::Read));
  auto store = Store::open(blank.path(), StoreAccess::Write);
  ASSERT_TRUE(store) << render(store.error());
  EXPECT_TRUE(store->set_header({"mark", {}}));
  EXPECT_TRUE(store->close());
  const auto again = Store::open(blank.path(), StoreAccess::Read);
  ASSERT_TRUE(again) << render(again.error());
  EXPECT_EQ(again->header()->fingerprint, "mark");
}

TEST(Store, SomebodyElsesDatabaseIsLeftAlone) {
  const Foreign other("CREATE TABLE theirs (number INTEGER);");
  const auto store = Store::open(other.path(), StoreAccess::Write);
  ASSERT_FALSE(store);
  EXPECT_NE(render(store.error()).find("not one of a study"), std::string::npos);
}

}  // namespace
}  // namespace pipecast

#include "sim/study/store.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "platforms/platform_kind.hpp"
#include "schedules/schedule.hpp"
#include "sim/study/sweep.hpp"

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

/// A study's database with these candidates, screened, after `statements` of somebody else.
class Tampered {
 public:
  explicit Tampered(std::initializer_list<std::int64_t> candidates, const char* statements = "") {
    std::remove(path().c_str());
    std::vector<StudyRow> rows;
    for (const std::int64_t candidate : candidates) rows.emplace_back().candidate = candidate;
    auto store = Store::open(path(), StoreAccess::Write);
    EXPECT_TRUE(store->add(rows));
    EXPECT_TRUE(store->close());
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, statements, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
  Tampered(const Tampered&) = delete;
  Tampered& operator=(const Tampered&) = delete;
  ~Tampered() { std::remove(path().c_str()); }
  std::string path() const { return testing::TempDir() + "store_tampered.db"; }
};

std::string fault_of_rows(const Tampered& file) {
  const auto store = Store::open(file.path(), StoreAccess::Read);
  if (!store) return render(store.error());
  const auto rows = store->rows();
  return rows ? "" : render(rows.error());
}

TEST(Store, RowsThatNoStudyHasAreDamage) {
  EXPECT_EQ(fault_of_rows(Tampered({0, 1, 2})), "");
  for (const char* statement :
       {"UPDATE rows SET state = 9", "UPDATE rows SET state = -1 WHERE candidate = 1",
        "UPDATE rows SET tier = 2 WHERE candidate = 2",
        "UPDATE rows SET candidate = -5 WHERE candidate = 1"})
    EXPECT_NE(fault_of_rows(Tampered({0, 1, 2}, statement)).find("is damaged"), std::string::npos)
        << statement;
}

TEST(Store, OtherTablesThanOursAreDamage) {
  for (const char* statement : {"ALTER TABLE rows RENAME COLUMN step_s TO steps",
                                "DROP TABLE header", "ALTER TABLE texts RENAME TO words"}) {
    const Tampered file({0, 1}, statement);
    const auto store = Store::open(file.path(), StoreAccess::Write);
    ASSERT_FALSE(store) << statement;
    EXPECT_NE(render(store.error()).find("its tables are not those of a study"), std::string::npos);
  }
}

/// Once, a bit of a key that fell over let SimGrid run the same rows for ever.
TEST(Store, KeysOutOfOrderAreDamage) {
  const Tampered file({0x61626364, 0x61626365, 0x61626366});
  std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(bytes), {}};
  const auto at = content.find("abce");
  ASSERT_NE(at, std::string::npos);
  bytes.seekp(static_cast<std::streamoff>(at));
  bytes << "abca";
  bytes.close();
  EXPECT_NE(fault_of_rows(file).find("is damaged"), std::string::npos) << fault_of_rows(file);
}

TEST(Store, RowsOfCandidatesThatTheStudyLacksAreRefused) {
  const auto schedules = builtin_schedules();
  const auto kinds = builtin_platform_kinds();
  const auto study = read_study(
      "scenario:\n"
      "  pipeline: {schedule: 1f1b, ranks: 4, microbatches: 8}\n"
      "  workload: {costs: {forward: 10 ms, backward: 20 ms}}\n"
      "  platform: {delay: 10 us}\n"
      "axes: {pipeline.microbatches: [8, 16, 24]}\n",
      "three.yaml", {schedules, kinds, {}});
  ASSERT_TRUE(study) << render(study.error());
  {
    const Tampered whole({0, 1, 2});
    EXPECT_TRUE(rows_of(*study, *Store::open(whole.path(), StoreAccess::Read)));
  }
  const Tampered file({0, 1, 3});
  const auto rows = rows_of(*study, *Store::open(file.path(), StoreAccess::Read));
  ASSERT_FALSE(rows);
  EXPECT_NE(render(rows.error()).find("holds a row of candidate 3, its study has 3 candidates"),
            std::string::npos);
}

/// What is no file is not opened: SQLite would take "" for a database that nobody finds again.
TEST(Store, NeedsAFile) {
  for (const char* path : {"", "-", ":memory:", "/dev/null", "/"}) {
    EXPECT_FALSE(Store::open(path, StoreAccess::Write)) << path;
    EXPECT_FALSE(Store::open(path, StoreAccess::Read)) << path;
  }
}

}  // namespace
}  // namespace pipecast

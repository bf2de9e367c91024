#include <gtest/gtest.h>

#include <algorithm>

#include "tests/layering/include_walls.hpp"

namespace pipecast::layering {
namespace {

using Strings = std::vector<std::string>;

Sources ours() { return read_sources(PIPECAST_SOURCE_DIR); }

TEST(Layering, NoTwoTypesShareAName) {
  EXPECT_EQ(types_defined_twice(read_sources(PIPECAST_SOURCE_DIR)), std::vector<std::string>{});
  const std::string cluster =
      "namespace pipecast {\nstruct Cluster {\n};\n}  // namespace pipecast\n";
  const std::string hidden =
      "namespace pipecast {\nnamespace {\nstruct Cluster {\n};\n}  // namespace\n"
      "}  // namespace pipecast\n";
  EXPECT_EQ(types_defined_twice({{"a.hpp", cluster}, {"b.hpp", cluster}, {"c.cpp", hidden}}),
            std::vector<std::string>{"pipecast::Cluster: a.hpp, b.hpp"});
}

TEST(Layering, EveryIncludeIsInTheTable) { EXPECT_EQ(wall_violations(ours()), Strings{}); }

TEST(Layering, WhoCallsAnAlgorithmIncludesIt) {
  EXPECT_EQ(algorithm_missing(read_sources(PIPECAST_SOURCE_DIR,
                                           {"sim", "schedules", "platforms", "tools", "tests"})),
            Strings{});
  EXPECT_EQ(algorithm_missing({{"a.cpp", "#include <vector>\nint a = std::max(1, 2);\n"},
                               {"b.cpp", "#include \"b.hpp\"\nint b = std::min(1, 2);\n"},
                               {"b.hpp", "#include <algorithm>\n"}}),
            Strings{"a.cpp"});
}

TEST(Layering, HeadersHaveNoCycle) { EXPECT_EQ(include_cycles(ours()), Strings{}); }

TEST(Layering, EverySourceIncludesItsHeaderFirst) {
  EXPECT_EQ(headers_not_first(ours()), Strings{});
}

TEST(Layering, EveryScheduleAndPlatformKindHasARegistryRow) {
  EXPECT_EQ(unregistered(ours(), "schedules", "ScheduleInfo"), Strings{});
  EXPECT_EQ(unregistered(ours(), "platforms", "PlatformKind"), Strings{});
}

TEST(Layering, SourcesStayShort) {
  for (const auto& [file, text] : ours())
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 500) << file << ": split it";
}

// The same functions on invented sources: each wall can fall.

TEST(WallViolations, SeesARoomThatLooksThroughAWall) {
  const Sources sources = {{"sim/model/a.cpp", "#include \"sim/graph/b.hpp\"\n"},
                           {"sim/graph/b.hpp", "#include \"sim/model/c.hpp\"\n"},
                           {"sim/model/c.hpp", "#include <vector>\n"}};
  EXPECT_EQ(wall_violations(sources),
            Strings{"sim/model/a.cpp:1: sim/graph/b.hpp is behind a wall for sim/model"});
}

TEST(WallViolations, ReadMayUseTheInterfaceOfSchedulesButNoConcreteOne) {
  const Sources sources = {
      {"sim/read/a.cpp",
       "#include \"schedules/schedule.hpp\"\n#include \"schedules/catalogue.hpp\"\n"},
      {"schedules/schedule.hpp", ""},
      {"schedules/catalogue.hpp", ""}};
  EXPECT_EQ(wall_violations(sources),
            Strings{"sim/read/a.cpp:2: schedules/catalogue.hpp is behind a wall for sim/read"});
}

TEST(WallViolations, SeesLibrariesOutsideTheirFile) {
  const Sources sources = {{"sim/run/simgrid_run.cpp", "#include <simgrid/s4u.hpp>\n"},
                           {"sim/run/other.cpp", "#include <simgrid/s4u.hpp>\n"},
                           {"sim/read/a.cpp", "\n  #  include <spdlog/spdlog.h>\n"},
                           {"tools/a.cpp", "#include <eigen3/Eigen>\n#include <fmt/format.h>\n"}};
  EXPECT_EQ(wall_violations(sources),
            (Strings{"sim/read/a.cpp:2: spdlog/spdlog.h may not be used here",
                     "sim/run/other.cpp:1: simgrid/s4u.hpp may not be used here",
                     "tools/a.cpp:1: eigen3/Eigen is a library that the table does not know"}));
}

TEST(WallViolations, SeesPathsThatAreNotOursAndFoldersThatAreNoRoom) {
  const Sources sources = {{"sim/base/a.cpp", "#include \"b.hpp\"\n"},
                           {"sim/attic/a.cpp", "#include \"sim/base/a.cpp\"\n"}};
  EXPECT_EQ(wall_violations(sources),
            (Strings{"sim/attic/a.cpp:1: sim/base/a.cpp is included from a folder that is no room",
                     "sim/base/a.cpp:1: b.hpp is not a file of this repository"}));
}

TEST(HeadersNotFirst, SeesASourceThatHidesAMissingInclude) {
  const Sources sources = {{"sim/base/a.hpp", ""},
                           {"sim/base/a.cpp", "#include <vector>\n#include \"sim/base/a.hpp\"\n"}};
  EXPECT_EQ(headers_not_first(sources),
            Strings{"sim/base/a.cpp: must include sim/base/a.hpp first"});
}

TEST(IncludeCycles, AreShownAsACircle) {
  const Sources sources = {{"sim/base/a.hpp", "#include \"sim/base/b.hpp\"\n"},
                           {"sim/base/b.hpp", "#include \"sim/base/c.hpp\"\n"},
                           {"sim/base/c.hpp", "#include \"sim/base/b.hpp\"\n"}};
  EXPECT_EQ(include_cycles(sources), Strings{"sim/base/b.hpp -> sim/base/c.hpp -> sim/base/b.hpp"});
}

TEST(Unregistered, NamesTheFunctionWithoutARow) {
  const Sources sources = {
      {"schedules/registry.cpp", "return {\n  gpipe(),\n  not_x(),\n};"},
      {"schedules/gpipe.cpp", "namespace pipecast {\nScheduleInfo gpipe() {\n}\n}"},
      {"schedules/x.cpp", "\nScheduleInfo x() {\n}\nconst ScheduleInfo* find(int) {}\n"}};
  EXPECT_EQ(unregistered(sources, "schedules", "ScheduleInfo"),
            Strings{"schedules/x.cpp: x() has no row in schedules/registry.cpp"});
  EXPECT_EQ(unregistered({}, "platforms", "PlatformKind"),
            Strings{"platforms/registry.cpp does not exist"});
}

}  // namespace
}  // namespace pipecast::layering

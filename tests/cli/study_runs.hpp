#pragma once
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/shell.hpp"

namespace pipecast::cli {

/// Keeps two workers busy for about a second: 1,500 candidates, a fifth of them no valid shape.
std::string busy_study();

/// The export of a study that nobody disturbed, and how long it took.
struct WholeStudy {
  std::string csv;
  double seconds = 0;
};
WholeStudy run_whole(const Workshop& workshop, const std::string& study);

/// Names the first line that differs: tables are long.
testing::AssertionResult same_table(const std::string& table, const std::string& wanted);

std::string exported(const Workshop& workshop, const std::string& database);

/// Begins `study` in a new database, kills the parent with SIGKILL after `seconds`, waits until its
/// workers are gone and gives the same command again. Returns the export.
std::string killed_and_resumed(const Workshop& workshop, const std::string& study, double seconds);

}  // namespace pipecast::cli

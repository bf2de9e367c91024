#include "schedules/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "tests/cli/shell.hpp"

namespace pipecast::cli {
namespace {

/// Columns of a line of UTF-8 text in which every character is one column wide.
std::size_t columns(const std::string& line) {
  std::size_t count = 0;
  for (const char byte : line)
    if ((static_cast<unsigned char>(byte) & 0xC0U) != 0x80U) ++count;
  return count;
}

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t result = 0;
  for (std::string line; std::getline(lines, line);) result = std::max(result, columns(line));
  return result;
}

TEST(ScheduleList, NamesEveryScheduleAndParameter) {
  const Workshop workshop;
  const std::string list = workshop.sh("pipecast schedule list").out;
  for (const ScheduleInfo& info : builtin_schedules()) {
    EXPECT_NE(list.find(std::string(info.name)), std::string::npos) << info.name;
    for (const FieldInfo& field : info.fields)
      EXPECT_NE(list.find("--param " + field.name + "="), std::string::npos) << field.name;
  }
}

TEST(ScheduleShow, FitsTheTerminal) {
  const Workshop workshop;
  for (const int width : {60, 80, 200}) {
    const std::string text = std::to_string(width);
    const Outcome shown = workshop.sh("pipecast schedule show 1f1b -p 8 -m 16 --width " + text);
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_LE(widest(shown.out), static_cast<std::size_t>(width)) << shown.out;
    EXPECT_EQ(workshop.sh("COLUMNS=" + text + " pipecast schedule show 1f1b -p 8 -m 16").out,
              shown.out);
  }
  for (const char* wordy : {"zb-h1 -p 4 -m 8 --costs 1,1,1,1", "zbv -p 4 -m 8 --costs 1,1,1,1",
                            "dualpipe -p 4 -m 10"}) {
    const Outcome shown = workshop.sh(std::string("pipecast schedule show --width 80 ") + wordy);
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_LE(widest(shown.out), 80U) << shown.out;
  }
}

TEST(ScheduleCheck, SaysWhatOneCommunicatorCouldNotFinish) {
  const Workshop workshop;
  workshop.write("d.csv", "0RECV_B0,0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n");
  const Outcome checked = workshop.sh("pipecast schedule check d.csv --dialect compute_comms");
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_NE(checked.out.find("note: with transfers: fifo"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("0RECV_B0"), std::string::npos) << checked.out;
}

/// What a command that needs a pseudo-terminal is put behind: nothing, or, in a bare root that
/// lacks them, a file system of terminals for that command alone. Nothing where root may not mount
/// either.
std::optional<std::string> what_brings_terminals(const Workshop& workshop) {
  for (const char* bring :
       {"",
        "unshare --mount --propagation unchanged sh -c 'mount -t devpts -o ptmxmode=666 devpts "
        "/dev/pts && exec \"$@\"' sh "})
    if (workshop.sh(std::string(bring) + "script -qec true /dev/null").code == 0) return bring;
  return std::nullopt;
}

TEST(ScheduleShow, IsColouredOnATerminalOnly) {
  const Workshop workshop;
  const std::string show = "pipecast schedule show 1f1b -p 4 -m 8";
  EXPECT_EQ(workshop.sh(show).out.find('\x1b'), std::string::npos);
  const std::optional<std::string> bring = what_brings_terminals(workshop);
  if (!bring) GTEST_SKIP() << "this machine gives no pseudo-terminal, and none can be mounted";
  const std::string terminal = *bring + "script -qec '" + show + "' /dev/null";
  EXPECT_NE(workshop.sh(terminal).out.find('\x1b'), std::string::npos);
  EXPECT_EQ(workshop.sh("NO_COLOR=1 " + terminal).out.find('\x1b'), std::string::npos);
}

TEST(ScheduleShow, PrintsTheClosedForms) {
  const Workshop workshop;
  // 1F1B, equal stages, free transfers: makespan (m + P − 1)(F + B) = 11 × 3, bubble (P − 1)/(m + P
  // − 1).
  const std::string shown = workshop.sh("pipecast schedule show 1f1b -p 4 -m 8").out;
  EXPECT_NE(shown.find("makespan 33"), std::string::npos) << shown;
  EXPECT_NE(shown.find("27.27 %"), std::string::npos) << shown;
}

TEST(ScheduleShow, SearchesWithTheDelayAndSaysHowFarTheBoundIs) {
  const Workshop workshop;
  const std::string command =
      "pipecast schedule show zb-auto -p 4 -m 12 --param memory_limit=6 --param moves=20000 ";
  const std::string told = workshop.sh(command + "--costs 20,20,10,8").out;
  EXPECT_NE(told.find("lower bound "), std::string::npos) << told;
  EXPECT_NE(told.find(" ticks of the largest rank span; found "), std::string::npos) << told;
  // The same order, planned as if messages took no time: it can only be longer.
  const auto found = [](const std::string& text) {
    const std::size_t at = text.find("; found ");
    return at == std::string::npos ? -1.0 : std::stod(text.substr(at + 8));
  };
  const std::string planned_without =
      workshop.sh(command + "--param transfer='0 s' --costs 20,20,10,8").out;
  EXPECT_GT(found(told), 0) << told;
  EXPECT_LT(found(told), found(planned_without)) << planned_without;
}

TEST(ScheduleExport, ReadsBack) {
  const Workshop workshop;
  for (const ScheduleInfo& info : builtin_schedules()) {
    const std::string name(info.name);
    const Outcome written = workshop.sh("pipecast schedule export " + name +
                                        " -p 4 -m 8 -o s.csv && "
                                        "pipecast schedule check s.csv");
    EXPECT_EQ(written.code, 0) << name << written.err;
    const Outcome lowered = workshop.sh("pipecast schedule export " + name +
                                        " -p 4 -m 8 --comms -o c.csv && "
                                        "pipecast schedule check c.csv --dialect compute_comms");
    EXPECT_EQ(lowered.code, 0) << name << lowered.err;
    EXPECT_NE(workshop.read("c.csv").find("SEND_F"), std::string::npos) << name;
  }
}

TEST(ScheduleExport, GoesToTheStandardOutputUnlessNamed) {
  const Workshop workshop;
  EXPECT_EQ(workshop.sh("pipecast schedule export gpipe -p 2 -m 2").out,
            "0F0,0F1,0B0,0B1\r\n1F0,1F1,1B0,1B1\r\n");
}

TEST(ScheduleCheck, ReportsEveryViolation) {
  const Workshop workshop;
  workshop.write("s.csv", "0F0,0F0,0B0\r\n1F0,1X0,1B0\r\n");
  const Outcome checked = workshop.sh("pipecast schedule check s.csv");
  EXPECT_EQ(checked.code, 1);
  EXPECT_NE(checked.err.find("s.csv:2:"), std::string::npos) << checked.err;
}

}  // namespace
}  // namespace pipecast::cli

#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "platforms/platform_kind.hpp"
#include "sim/report/chrome_trace.hpp"
#include "sim/report/run_view.hpp"
#include "tests/support/law_run.hpp"
#include "tests/unit/report/trace_validator.hpp"

namespace pipecast {
namespace {

using nlohmann::json;
using testing::LawRun;

/// Messages take time and share nothing, so their slices overlap and need lanes.
LawRun run_with_messages(const ScheduleInfo&, const Program& program) {
  Workload workload = uniform_workload(program.shape, {{0.0011}, {0.0013}, {0.0007}});
  for (StageBytes& bytes : workload.bytes) bytes = {{100}, {30}, {8}, {4}, {1000}, {2000}, {3000}};
  Platform platform = constant_delay_platform(program.shape.ranks, {});
  platform.links[0] = {"wire", {0.0004}, {9000}, Sharing::FatPipe};
  return testing::run_program(program, std::move(workload), std::move(platform));
}

RunView view_of(const LawRun& run, std::string_view schedule) {
  return {.scenario = "law",
          .engine = "longest-path",
          .schedule = std::string(schedule),
          .program = run.program,
          .workload = run.workload,
          .platform = run.platform,
          .graph = run.graph,
          .tasks = run.graph.tasks,
          .routes = run.graph.routes,
          .device_of_rank = run.graph.device_of_rank,
          .timeline = run.timeline,
          .summary = run.summary,
          .warnings = {}};
}

std::string unpacked(const std::string& gzip) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::vector<unsigned char> input(gzip.begin(), gzip.end());
  std::vector<unsigned char> piece(1 << 16);
  std::string text;
  stream.next_in = input.data();
  stream.avail_in = static_cast<unsigned>(input.size());
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = piece.data();
    stream.avail_out = static_cast<unsigned>(piece.size());
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(piece.begin(), piece.end() - stream.avail_out);
  }
  EXPECT_EQ(state, Z_STREAM_END);
  inflateEnd(&stream);
  return text;
}

std::string trace_of(const RunView& view, TraceDetail detail, Compression compression) {
  std::ostringstream out;
  write_chrome_trace(view, out, {detail, compression});
  return out.str();
}

std::size_t count(const json& trace, const std::string& phase, const std::string& category) {
  std::size_t found = 0;
  for (const auto& event : trace["traceEvents"])
    found += event["ph"] == phase && event.value("cat", "") == category;
  return found;
}

std::size_t transfers_of(const LawRun& run) {
  return static_cast<std::size_t>(
      std::count_if(run.graph.tasks.begin(), run.graph.tasks.end(),
                    [](const Task& task) { return is_transfer(task); }));
}

TEST(TraceLaws, EveryScheduleGivesAValidTraceInFullCoarseAndPacked) {
  int runs = 0;
  testing::for_every_schedule({3, 2, 4}, [&](const ScheduleInfo& schedule, const Program& program) {
    const LawRun run = run_with_messages(schedule, program);
    const RunView view = view_of(run, schedule.name);
    const std::string what = testing::describe(schedule, program.shape);
    for (const TraceDetail detail : {TraceDetail::Full, TraceDetail::Coarse}) {
      const std::string text = trace_of(view, detail, Compression::None);
      const json trace = json::parse(text);
      EXPECT_EQ(testing::TraceValidator(trace).faults(), std::vector<std::string>{}) << what;
      EXPECT_EQ(unpacked(trace_of(view, detail, Compression::Gzip)), text) << what;
    }
    const json full = json::parse(trace_of(view, TraceDetail::Full, Compression::None));
    EXPECT_EQ(count(full, "s", "p2p"), transfers_of(run)) << what;
    EXPECT_EQ(count(full, "f", "p2p"), transfers_of(run)) << what;
    ++runs;
  });
  EXPECT_GT(runs, 100);
}

TEST(TraceLaws, SchedulesInOneFileKeepApart) {
  std::ostringstream out;
  std::size_t transfers = 0;
  std::size_t ranks = 0;
  {
    ChromeTrace trace(out, 40);
    const Shape shape{4, 2, 8};
    for (const ScheduleInfo& schedule : builtin_schedules()) {
      const Workload workload = uniform_workload(shape, {{1}, {1}, {1}});
      const auto program = testing::program_of(schedule, shape, workload);
      if (!program) continue;
      const LawRun run = run_with_messages(schedule, *program);
      trace.add(view_of(run, schedule.name));
      transfers += transfers_of(run);
      ranks += 4;
    }
  }
  const json trace = json::parse(out.str());
  EXPECT_EQ(testing::TraceValidator(trace).faults(), std::vector<std::string>{});
  EXPECT_GT(ranks, 4U * 5);
  EXPECT_EQ(count(trace, "s", "p2p"), transfers);
  EXPECT_EQ(trace["otherData"]["runs"].size() * 4, ranks);
}

}  // namespace
}  // namespace pipecast

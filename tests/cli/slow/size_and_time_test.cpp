// Large inputs and outputs of the command, and the memory they take.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/shell.hpp"

namespace pipecast::cli {
namespace {

/// The most resident memory that a command of this test has taken so far.
double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// What the commands of this test have taken together.
double processor_s() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// One rank's profiled step as Kineto writes it, with so many host operations in every slice that
/// the file has `megabytes`. A slice is 1 ms of which the host works 0.9 ms.
void write_large_trace(const std::string& path, double megabytes, int microbatches) {
  std::ofstream file(path, std::ios::binary);
  file << R"({"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[)"
       << R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}})";
  const std::string tail = R"(,"args":{"External id":4711,"Record function id":0,"Ev Idx":12,)"
                           R"("Input Dims":"[[4096, 4096], [4096, 4096]]"}})";
  const int slices = 2 * microbatches;
  const int ops = static_cast<int>(megabytes * 1e6 / slices / 240);
  for (int slice = 0; slice < slices; ++slice) {
    const double begin = 1000.0 * slice;
    file << fmt::format(
        ",\n{{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"PP:0{}{}\",\"pid\":1,\"tid\":7,"
        "\"ts\":{:.3f},\"dur\":1000}}",
        slice % 2 == 0 ? "F" : "B", slice / 2, begin);
    for (int op = 0; op < ops; ++op)
      file << fmt::format(
          ",\n{{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::addmm\",\"pid\":1,\"tid\":7,"
          "\"ts\":{:.3f},\"dur\":{:.3f}{}",
          begin + 50 + 900.0 * op / ops, 900.0 / ops, tail);
  }
  file << "]}\n";
}

TEST(ImportSize, ATraceOfHundredsOfMegabytesTakesBoundedMemory) {
  const Workshop shop;
  write_large_trace(shop.path("large.rank0.json"), 400, 32);
  ASSERT_GT(std::filesystem::file_size(shop.path("large.rank0.json")), 300'000'000u);
  const double before = peak_mb();
  const Outcome outcome = shop.sh("pipecast import large.rank0.json --json -");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_LT(before, 100);
  EXPECT_LT(peak_mb(), 200);
  RecordProperty("peak_mb", std::to_string(peak_mb()));
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["microbatches"], 32);
  for (const auto& operation : report["operations"])
    EXPECT_NEAR(operation["median_s"].get<double>(), 0.9e-3, 0.02e-3);
}

/// What is not JSON to its end says so, however large it is.
TEST(ImportSize, ALargeTraceThatIsCutOffIsRefused) {
  const Workshop shop;
  write_large_trace(shop.path("cut.rank0.json"), 160, 8);
  ASSERT_GT(std::filesystem::file_size(shop.path("cut.rank0.json")), 100'000'001u);
  std::filesystem::resize_file(shop.path("cut.rank0.json"), 100'000'001);
  const Outcome outcome = shop.sh("pipecast import cut.rank0.json");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("the trace is cut off (at byte 100000001)"), std::string::npos)
      << outcome.err;
}

/// All closed forms over the whole grid: seconds of processor time, whatever else runs.
TEST(FormulasTime, TheWholeGridTakesLessThanHalfAMinute) {
  const Workshop shop;
  const double before_s = processor_s();
  ASSERT_EQ(shop.sh("pipecast formulas --json f.json").code, 0);
  EXPECT_LT(processor_s() - before_s, 30);
  RecordProperty("processor_s", std::to_string(processor_s() - before_s));
}

/// A million tasks: coarse traces are bounded, full ones are streamed.
TEST(TraceSize, AMillionTasksGiveACoarseTraceBelowFiftyMegabytes) {
  const Workshop shop;
  const std::string run =
      "pipecast run scenarios/zero-bubble-1.5b.yaml --engine longest-path --set pipeline.ranks=64 "
      "--set pipeline.microbatches=4096 --quiet ";
  const Outcome plain = shop.sh(run + "--json r.json");
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_GT(nlohmann::json::parse(shop.read("r.json"))["tasks"].get<int>(), 1'000'000);
  const double without_mb = peak_mb();
  ASSERT_EQ(shop.sh(run + "--trace c.json --trace-detail coarse").code, 0);
  EXPECT_LT(std::filesystem::file_size(shop.path("c.json")), 50'000'000u);
  ASSERT_EQ(shop.sh(run + "--trace f.json").code, 0);
  EXPECT_GT(std::filesystem::file_size(shop.path("f.json")), 200'000'000u);
  EXPECT_LT(peak_mb(), without_mb + 150);
  RecordProperty("coarse_mb",
                 std::to_string(std::filesystem::file_size(shop.path("c.json")) / 1'000'000));
  RecordProperty("full_mb",
                 std::to_string(std::filesystem::file_size(shop.path("f.json")) / 1'000'000));
  RecordProperty("peak_growth_mb", std::to_string(peak_mb() - without_mb));
}

TEST(ReportSize, AMillionTasksGiveAPageBelowThirtyMegabytes) {
  const Workshop shop;
  const Outcome outcome = shop.sh(
      "pipecast run scenarios/zero-bubble-1.5b.yaml --engine longest-path --set pipeline.ranks=64 "
      "--set pipeline.microbatches=4096 --quiet --report r.html");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_LT(std::filesystem::file_size(shop.path("r.html")), 30'000'000u);
}

}  // namespace
}  // namespace pipecast::cli

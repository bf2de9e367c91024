#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "platforms/platform_kind.hpp"
#include "sim/graph/transfers.hpp"
#include "sim/read/program_csv.hpp"
#include "tests/support/registry_cases.hpp"
#include "tests/support/torch_loader.hpp"

namespace pipecast {
namespace {

using testing::accepted_shapes;
using testing::registry_cases;
using testing::RegistryCase;

constexpr Shape kLargest{4, 2, 8};

/// A file holds operations and where they run. The numbers of directions, and directions that no
/// microbatch takes, are not seen in it.
void expect_same_schedule(const Program& read, const Program& written, const std::string& label) {
  EXPECT_EQ(read.shape, written.shape) << label;
  EXPECT_EQ(read.ranks, written.ranks) << label;
  ASSERT_EQ(read.placement.stages, written.placement.stages) << label;
  for (int stage = 0; stage < written.placement.stages; ++stage)
    for (int microbatch = 0; microbatch < written.shape.microbatches; ++microbatch)
      EXPECT_EQ(read.placement.rank(Stage{stage}, Microbatch{microbatch}),
                written.placement.rank(Stage{stage}, Microbatch{microbatch}))
          << label << " stage " << stage << " microbatch " << microbatch;
}

/// No stage is on two ranks.
bool goes_one_way(const Program& program) {
  for (int stage = 0; stage < program.placement.stages; ++stage)
    for (int microbatch = 1; microbatch < program.shape.microbatches; ++microbatch)
      if (program.placement.rank(Stage{stage}, Microbatch{microbatch}) !=
          program.placement.rank(Stage{stage}, Microbatch{0}))
        return false;
  return true;
}

template <class Visit>
void for_each_program(Visit visit) {
  const std::vector<ScheduleInfo> schedules = builtin_schedules();
  for (const RegistryCase& registered : registry_cases(schedules))
    for (const Shape& shape : accepted_shapes(registered, kLargest)) {
      const Workload workload = uniform_workload(shape, {{1.0}, {1.0}, {1.0}});
      const auto program = make_program(*registered.schedule, {shape, registered.params, workload});
      if (program) visit(registered.label, *program);
    }
}

TEST(ScheduleFiles, WritingAndReadingIsTheIdentityForEveryRegisteredSchedule) {
  int programs = 0;
  for_each_program([&](const std::string& label, const Program& program) {
    ++programs;
    const std::string text = write_program_csv(program);
    const auto again = read_program_csv(text, label, CsvDialect::ComputeOnly);
    ASSERT_TRUE(again) << label << "\n" << text << render(again.error());
    expect_same_schedule(*again, program, label);
  });
  EXPECT_GE(programs, 500);
}

/// Torch's loader wants every stage on one rank and a backward; what it can express, it accepts.
TEST(ScheduleFiles, TorchLoadsEveryRegisteredScheduleItCanExpress) {
  int loaded = 0;
  for_each_program([&](const std::string& label, const Program& program) {
    const std::string refusal = testing::torch_refusal(
        write_program_csv(program), testing::TorchFormat::ComputeOnly, program.shape);
    const bool expressible =
        goes_one_way(program) && has_backward(program) && !has_communication(program);
    EXPECT_EQ(refusal.empty(), expressible) << label << ": " << refusal;
    loaded += refusal.empty() ? 1 : 0;
  });
  EXPECT_GE(loaded, 400);
}

/// Whatever a lowering spells out, the reader takes and gives back; PyTorch's own are taken by its
/// loader too.
TEST(ScheduleFiles, LoweredSchedulesReadBackAndTorchLoadsItsOwn) {
  int lowered_programs = 0;
  int loaded = 0;
  const std::vector<LoweringInfo> lowerings = builtin_lowerings();
  for_each_program([&](const std::string& schedule, const Program& program) {
    for (const LoweringInfo& lowering : lowerings) {
      const auto lowered = lowering.lower(program);
      if (!lowered) continue;
      ++lowered_programs;
      const std::string label = schedule + " " + std::string(lowering.name);
      const std::string text = write_program_csv(*lowered);
      const auto again = read_program_csv(text, label, CsvDialect::ComputeComms);
      ASSERT_TRUE(again) << label << "\n" << text << render(again.error());
      expect_same_schedule(*again, *lowered, label);
      const bool torch = text.find("post(") == std::string::npos && goes_one_way(program) &&
                         has_backward(program) && text.find("OPTIMIZER") == std::string::npos;
      if (!torch) continue;
      EXPECT_EQ(testing::torch_refusal(text, testing::TorchFormat::ComputeComms, program.shape), "")
          << label << "\n"
          << text;
      ++loaded;
    }
  });
  EXPECT_GE(lowered_programs, 500);
  EXPECT_GE(loaded, 400);
}

/// Keys of a scenario's `platform` and of a preset that are not the kind's own.
TEST(ScheduleFiles, NoPlatformKindHasAFieldThatTheReaderKeepsForItself) {
  constexpr std::array<std::string_view, 6> kKept{"preset",  "kind",    "delay",
                                                  "devices", "sources", "description"};
  for (const PlatformKind& kind : builtin_platform_kinds())
    for (const FieldInfo& field : kind.fields)
      EXPECT_EQ(std::find(kKept.begin(), kKept.end(), field.name), kKept.end())
          << kind.name << " " << field.name;
}

}  // namespace
}  // namespace pipecast

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "schedules/passes.hpp"
#include "tests/support/golden_orders.hpp"
#include "tests/support/simulated.hpp"

/// Orders that published frameworks' own generators produced, and what an independent simulation
/// of them measured: see data/README.md.
namespace pipecast::testing {
namespace {

/// A family of golden files and the registered schedule that makes them.
struct Family {
  std::string file;
  std::string schedule;
  Texts params;
  Program (*pass)(const Program&) = nullptr;
};

void PrintTo(const Family& family, std::ostream* out) { *out << family.file; }

std::vector<Family> families() {
  std::vector<Family> result = {
      {"pytorch_gpipe", "gpipe", {}},
      {"pytorch_1f1b", "1f1b", {}},
      {"megatron_1f1b", "1f1b", {}},
      {"deepspeed_train", "1f1b", {}},
      {"zero-bubble_basic1f1b", "1f1b", {}},
      {"pytorch_interleaved1f1b", "interleaved-1f1b", {}},
      {"megatron_interleaved", "interleaved-1f1b", {}},
      {"zero-bubble_vpp", "interleaved-1f1b", {}},
      {"elf_zbh1", "zb-h1", {}},
      {"megatron_combined1f1b", "combined-1f1b", {}},
      {"pytorch_loopedbfs", "looped-bfs", {}},
      {"pytorch_interleavedzb", "interleaved-zb", {}},
      {"pytorch_interleavedzb-mergebw", "interleaved-zb", {}, merge_backward},
      {"elf_1f1b", "1f1b", {}, split_backward},
      {"pytorch_zbv", "zbv", {}},
      {"zero-bubble_vhalf", "v-half", {}},
      {"zero-bubble_vmin", "v-min", {}},
      {"zero-bubble_v1f1b", "v-1f1b", {}},
      {"dualpipe_dualpipe", "dualpipe", {}},
      {"dualpipe_dualpipev", "dualpipe-v", {}},
      {"pytorch_dualpipev", "dualpipe-v", {}},
      {"chimera_chimera-n1", "chimera", {{"pairs", "1"}}},
      {"chimera_chimera-n2", "chimera", {{"pairs", "2"}}},
      {"chimera_chimera-n4", "chimera", {{"pairs", "4"}}},
      {"elf_hanayo-w1", "hanayo", {{"waves", "1"}}},
      {"elf_hanayo-w2", "hanayo", {{"waves", "2"}}},
      {"elf_hanayo-w4", "hanayo", {{"waves", "4"}}},
      {"megatron_forward-only", "forward-only", {}},
      {"deepspeed_inference", "forward-only", {}},
      {"megatron_interleaved-forward-only", "forward-only-interleaved", {}},
  };
  for (const char* group : {"2", "3", "4", "5", "6", "8", "9", "12", "16"})
    result.push_back({fmt::format("megatron_interleaved-group{}", group),
                      "interleaved-1f1b",
                      {{"group", group}}});
  for (const char* group : {"1", "2", "4", "8", "16"})
    result.push_back({fmt::format("zero-bubble_group-interleaved-g{}", group),
                      "group-interleaved",
                      {{"group", group}}});
  return result;
}

std::string data_folder() { return std::string(PIPECAST_TEST_DIR) + "/golden/data/"; }

class ScheduleOrders : public ::testing::TestWithParam<Family> {
 protected:
  static std::vector<GoldenOrder> orders() {
    return read_golden_orders(data_folder() + "orders/" + GetParam().file + ".txt");
  }
  static Result<Program> ours(const GoldenOrder& order) {
    auto program = scheduled(GetParam().schedule, order.shape, GetParam().params);
    if (program && GetParam().pass != nullptr) program = GetParam().pass(*program);
    return program;
  }
};

TEST_P(ScheduleOrders, AreReproducedCellForCell) {
  const std::vector<GoldenOrder> golden = orders();
  ASSERT_FALSE(golden.empty());
  for (const GoldenOrder& order : golden) {
    const auto program = ours(order);
    ASSERT_TRUE(program) << order.name << "\n" << render(program.error());
    const auto cells = cells_of(*program);
    ASSERT_EQ(cells.size(), order.ranks.size()) << order.name;
    for (std::size_t rank = 0; rank < cells.size(); ++rank)
      EXPECT_EQ(fmt::format("{}", fmt::join(cells[rank], ",")),
                fmt::format("{}", fmt::join(order.ranks[rank], ",")))
          << order.name << " rank " << rank;
  }
}

/// A row of expected.csv.
struct Expectation {
  StageCost cost;
  std::string makespan;
  std::string bubble_fraction;
  std::string peak_in_flight;
  std::string peak_in_flight_free_at_input;
  std::string max_rank_span;
};

std::multimap<std::string, Expectation> expectations() {
  std::multimap<std::string, Expectation> rows;
  std::ifstream file(data_folder() + "expected.csv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const auto cells = split(line, ',');
    const StageCost cost{{std::stod(cells[1])}, {std::stod(cells[2])}, {std::stod(cells[3])}};
    rows.emplace(cells[0], Expectation{cost, cells[4], cells[5], cells[6], cells[7], cells[8]});
  }
  return rows;
}

void expect_measures(const Program& program, const Expectation& row, const std::string& name) {
  const auto run = simulated(program, row.cost);
  ASSERT_TRUE(run) << name << "\n" << render(run.error());
  const std::string where =
      fmt::format("{} with costs {} {} {}", name, row.cost.forward.value,
                  row.cost.backward_input.value, row.cost.backward_weight.value);
  EXPECT_EQ(fmt::format("{}", run->makespan_s), row.makespan) << where;
  EXPECT_EQ(fmt::format("{}", run->max_rank_span_s), row.max_rank_span) << where;
  const double bubble = 1 - run->work_s / (program.shape.ranks * run->makespan_s);
  EXPECT_EQ(fmt::format("{:.6f}", bubble), row.bubble_fraction) << where;
  EXPECT_EQ(fmt::format("{}", fmt::join(peak_in_flight(program, ReleasedBy::Weight), " ")),
            row.peak_in_flight)
      << where;
  EXPECT_EQ(fmt::format("{}", fmt::join(peak_in_flight(program, ReleasedBy::Input), " ")),
            row.peak_in_flight_free_at_input)
      << where;
}

TEST_P(ScheduleOrders, HaveTheMeasuredTimesAndPeaks) {
  const auto rows = expectations();
  for (const GoldenOrder& order : orders()) {
    const auto program = ours(order);
    ASSERT_TRUE(program) << order.name;
    const auto [begin, end] = rows.equal_range(order.name);
    EXPECT_NE(begin, end) << order.name << " has no row in expected.csv";
    for (auto row = begin; row != end; ++row) expect_measures(*program, row->second, order.name);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, ScheduleOrders, ::testing::ValuesIn(families()),
                         [](const auto& instance) {
                           std::string name = instance.param.file;
                           for (char& letter : name)
                             if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
                           return name;
                         });

}  // namespace
}  // namespace pipecast::testing

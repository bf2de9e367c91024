#include <gtest/gtest.h>

#include "sim/graph/transfers.hpp"
#include "sim/graph/transfers_deepspeed.hpp"
#include "tests/support/golden_comms.hpp"

/// Every lowering against the lists of its framework, cell for cell. The compute order is the
/// list's own, with the communication taken out.
namespace pipecast {
namespace {

using comms::Golden;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Which lowering made a kind of list.
std::string lowering_of(const std::string& family, const std::string& kind) {
  if (family == "pytorch") {
    if (ends_with(kind, "-runtimecomms")) return "pytorch-class-loop";
    if (ends_with(kind, "-sendrecv")) return "pytorch-sendrecv";
    return ends_with(kind, "-comms28") ? "pytorch-2.8" : "pytorch";
  }
  if (family == "megatron") {
    if (ends_with(kind, "-overlap-flush-comms")) return "megatron-overlap-flush";
    if (ends_with(kind, "-overlap-comms") || kind == "combined1f1b-comms")
      return "megatron-overlap";
    return "megatron-sync";
  }
  return family == "zero_bubble" ? "zero-bubble" : family;
}

void expect_lowered(const Golden& golden, const LoweringInfo& lowering) {
  const Program wanted = comms::parse_program(golden);
  const auto lowered = lowering.lower(without_communication(wanted));
  ASSERT_TRUE(lowered) << golden.name << "\n" << render(lowered.error());
  for (std::size_t rank = 0; rank < wanted.ranks.size(); ++rank)
    ASSERT_EQ(comms::list_text(lowered->ranks[rank]), comms::list_text(wanted.ranks[rank]))
        << golden.name << " rank " << rank;
}

class CommsLowerings : public ::testing::TestWithParam<const char*> {};

TEST_P(CommsLowerings, ReproduceEveryListOfTheirFramework) {
  const std::string family = GetParam();
  const std::vector<Golden> goldens = comms::read_goldens(family);
  ASSERT_FALSE(goldens.empty());
  const std::vector<LoweringInfo> lowerings = builtin_lowerings();
  for (const Golden& golden : goldens) {
    const LoweringInfo* lowering = find_lowering(lowerings, lowering_of(family, golden.kind));
    ASSERT_NE(lowering, nullptr) << golden.kind;
    expect_lowered(golden, *lowering);
  }
}

INSTANTIATE_TEST_SUITE_P(Frameworks, CommsLowerings,
                         ::testing::Values("deepspeed", "dualpipe", "megatron", "pytorch",
                                           "zero_bubble"));

/// The words of the data files, written out.
std::string long_form(std::string line) {
  const std::pair<std::string, std::string> words[] = {
      {"sF", "SEND_F"}, {"sB", "SEND_B"}, {"rF", "RECV_F"},     {"rB", "RECV_B"},
      {"l", "LOAD"},    {"o", "OPT"},     {"g", "REDUCE_GRAD"}, {"t", "REDUCE_TIED_GRAD"},
  };
  for (const auto& [from, to] : words)
    for (std::size_t at = 0; (at = line.find(from, at)) != line.npos; at += to.size())
      line.replace(at, from.size(), to);
  return line;
}

TEST(DeepspeedSteps, AreWrittenInstructionForInstruction) {
  for (const Golden& golden : comms::read_goldens("deepspeed")) {
    const auto steps = deepspeed_steps(without_communication(comms::parse_program(golden)));
    ASSERT_TRUE(steps) << golden.name << "\n" << render(steps.error());
    std::string wanted;
    for (const std::string& line : golden.lines) wanted += long_form(line) + "\n";
    EXPECT_EQ(deepspeed_text(*steps), wanted) << golden.name;
  }
}

}  // namespace
}  // namespace pipecast

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "sim/graph/transfers.hpp"
#include "tests/support/golden_comms.hpp"

/// Every lowering against the lists of its framework, cell for cell. The compute order is the
/// list's own, with the communication taken out.
namespace pipecast {
namespace {

using comms::Golden;
using Lower = std::function<Result<Program>(const Program&)>;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Which lowering made a kind of list.
Lower lowering_of(const std::string& family, const std::string& kind) {
  const auto version = [](PytorchVersion of) {
    return [of](const Program& program) { return lower_pytorch(program, of); };
  };
  const auto megatron = [](MegatronMode mode) {
    return [mode](const Program& program) { return lower_megatron(program, mode); };
  };
  if (family == "pytorch") {
    if (ends_with(kind, "-runtimecomms")) return lower_pytorch_class_loop;
    if (ends_with(kind, "-sendrecv")) return lower_pytorch_send_receive;
    return version(ends_with(kind, "-comms28") ? PytorchVersion::V2_8 : PytorchVersion::Main);
  }
  if (family == "megatron") {
    if (ends_with(kind, "-overlap-flush-comms")) return megatron(MegatronMode::OverlapFlush);
    if (ends_with(kind, "-overlap-comms") || kind == "combined1f1b-comms")
      return megatron(MegatronMode::Overlap);
    return megatron(MegatronMode::Sync);
  }
  return {};
}

void expect_lowered(const Golden& golden, const Lower& lower) {
  const Program wanted = comms::parse_program(golden);
  const auto lowered = lower(without_communication(wanted));
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
  for (const Golden& golden : goldens) expect_lowered(golden, lowering_of(family, golden.kind));
}

INSTANTIATE_TEST_SUITE_P(Frameworks, CommsLowerings, ::testing::Values("pytorch", "megatron"));

}  // namespace
}  // namespace pipecast

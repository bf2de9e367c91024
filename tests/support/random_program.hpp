#pragma once
#include "sim/model/platform.hpp"
#include "sim/model/program.hpp"
#include "sim/model/workload.hpp"
#include "tests/support/random.hpp"

namespace pipecast::testing {

/// Largest shape drawn, each bound inclusive.
struct RandomLimits {
  int ranks = 5;
  int chunks = 4;
  int microbatches = 8;
};

/// A valid program that can finish: ranks take turns at random, each issuing any operation whose
/// inputs have been issued, so the order of issue is an order in which everything can run. Draws
/// loop, zigzag and shuffled placements, one direction or two; no backward, whole ones, split ones
/// or a mixture; and now and then an overlapped pair. check(program) is empty.
Program random_program(Random& random, const RandomLimits& limits = {});

/// Costs for the program: uneven stages, sometimes different for every microbatch, zeros, sizes
/// from nothing to a gigabyte with fractions of a byte, overheads, every overlap rule.
Workload random_workload(Random& random, const Program& program);

/// Nodes of devices: links up and down inside a node, cards (one per device or one per node) and a
/// spine between nodes, with uneven speeds. The same seed with another `sharing` gives the same
/// fabric, shared or not.
Platform random_platform(Random& random, int devices, Sharing sharing);

/// Rank r on device r, for as many ranks as the program has.
std::vector<DeviceId> in_order(const Program& program);

}  // namespace pipecast::testing

#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace pipecast {

enum class Collective : std::uint8_t { AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast };

enum class CollectiveAlgorithm : std::uint8_t {
  Automatic,     ///< by topology and size, as NCCL does
  Ring,          ///< every device streams to the next one
  Tree,          ///< two binary trees, each with half of the bytes
  Direct,        ///< every device with every other one
  Hierarchical,  ///< inside the innermost groups, and slot by slot across them
  InSwitch,      ///< the switches reduce: one trip up, one down
};

inline constexpr std::array kCollectiveAlgorithms{
    CollectiveAlgorithm::Automatic,    CollectiveAlgorithm::Ring,
    CollectiveAlgorithm::Tree,         CollectiveAlgorithm::Direct,
    CollectiveAlgorithm::Hierarchical, CollectiveAlgorithm::InSwitch};

std::string_view collective_name(Collective kind);
std::string_view algorithm_name(CollectiveAlgorithm algorithm);

}  // namespace pipecast

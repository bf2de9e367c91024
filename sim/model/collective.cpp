#include "sim/model/collective.hpp"

namespace pipecast {

std::string_view collective_name(Collective kind) {
  switch (kind) {
    case Collective::AllReduce:
      return "all-reduce";
    case Collective::ReduceScatter:
      return "reduce-scatter";
    case Collective::AllGather:
      return "all-gather";
    case Collective::AllToAll:
      return "all-to-all";
    case Collective::Broadcast:
      return "broadcast";
  }
  return {};
}

std::string_view algorithm_name(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::Automatic:
      return "automatic";
    case CollectiveAlgorithm::Ring:
      return "ring";
    case CollectiveAlgorithm::Tree:
      return "tree";
    case CollectiveAlgorithm::Direct:
      return "direct";
    case CollectiveAlgorithm::Hierarchical:
      return "hierarchical";
    case CollectiveAlgorithm::InSwitch:
      return "in-switch";
  }
  return {};
}

}  // namespace pipecast

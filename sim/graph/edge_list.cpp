#include "sim/graph/edge_list.hpp"

#include "sim/base/large_vector.hpp"

namespace pipecast {

DependencyGraph dependency_graph(std::size_t tasks, const std::vector<Edge>& edges) {
  std::vector<std::uint32_t> begin(tasks + 1, 0);
  for (const Edge& edge : edges) ++begin[edge.first + 1];
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<Edge> sorted;
  reserve_large(sorted, edges.size());
  sorted.resize(edges.size());
  for (const Edge& edge : edges) sorted[begin[edge.first]++] = edge;
  return {boost::edges_are_sorted, sorted.begin(), sorted.end(), static_cast<std::uint32_t>(tasks),
          static_cast<std::uint32_t>(sorted.size())};
}

}  // namespace pipecast

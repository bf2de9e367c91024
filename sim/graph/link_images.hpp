#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "sim/graph/task_graph.hpp"

namespace pipecast {

/// Spreads the bits of a number (splitmix64), so that sums of mixed numbers tell multisets apart.
std::uint64_t mixed(std::uint64_t number);

/// Which links are images of each other when tasks are: the k-th links of two routes whose tasks
/// have one image. Of each set of links one stands for all.
class LinkImages {
 public:
  /// `image_of` gives each task of `graph` its image, from 0 to `images` − 1.
  LinkImages(const TaskGraph& graph, const Platform& platform,
             const std::vector<std::uint32_t>& image_of, std::size_t images);

  /// Gives the tasks of the folded graph (task i is image i; its route still that of `graph`)
  /// routes over links that stand for several, which are added to `platform`. False when links of
  /// one set differ or do not carry the same.
  bool fold(TaskGraph& folded, Platform& platform);

 private:
  std::int32_t root(std::int32_t link);
  bool unite();
  bool carry_the_same() const;
  Route folded_route(const Route& way, std::uint32_t image, Platform& platform);
  LinkId standing_for(std::int32_t root, Platform& platform);

  const TaskGraph& graph_;
  const Platform& platform_;
  const std::vector<std::uint32_t>& image_of_;
  std::vector<std::uint32_t> first_;    ///< [image] a task that has it
  std::vector<std::int32_t> parent_;    ///< [link] union-find
  std::vector<std::uint64_t> carries_;  ///< [link] images of the flows over it, order left out
  /// [root] the images of flows over one of its links, and how often each crosses it
  std::map<std::int32_t, std::map<std::uint32_t, int>> crossings_;
  std::map<std::int32_t, LinkId> made_;  ///< [root] the link that stands for all
  std::map<std::int32_t, int> divisor_;  ///< [root] what all crossings are a multiple of
};

}  // namespace pipecast

#include <algorithm>

#include "platforms/catalogue.hpp"

namespace pipecast {

std::vector<PlatformKind> builtin_platform_kinds() {
  return {
      nvlink_node_kind(), mesh_node_kind(),    pcie_tree_kind(), nvlink_domain_kind(),
      super_node_kind(),  rail_cluster_kind(), fat_tree_kind(),  multi_plane_kind(),
      torus_kind(),       two_sites_kind(),
  };
}

const PlatformKind* find_platform_kind(std::span<const PlatformKind> kinds, std::string_view name) {
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const PlatformKind& kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

Result<Platform> make_platform(const PlatformKind& kind, const FieldValues& values,
                               std::span<const NodePart> parts) {
  Result<Platform> platform = kind.expand(values, parts);
  if (!platform) return platform;
  if (Diagnostics faults = check(*platform); !faults.empty()) return fail(std::move(faults));
  return platform;
}

}  // namespace pipecast

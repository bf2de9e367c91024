#pragma once
#include "platforms/platform_kind.hpp"

/// One function per kind of fabric, each defined in the file of its name; registry.cpp lists them.
namespace pipecast {

PlatformKind nvlink_node_kind();
PlatformKind mesh_node_kind();
PlatformKind pcie_tree_kind();
PlatformKind nvlink_domain_kind();
PlatformKind super_node_kind();
PlatformKind rail_cluster_kind();
PlatformKind fat_tree_kind();
PlatformKind multi_plane_kind();
PlatformKind torus_kind();
PlatformKind two_sites_kind();

}  // namespace pipecast

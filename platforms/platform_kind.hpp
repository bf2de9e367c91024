#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/base/fields.hpp"
#include "sim/model/accelerator.hpp"
#include "sim/model/platform.hpp"

namespace pipecast {

/// Nodes of a machine that are made otherwise than its fields say.
struct NodePart {
  int first = 0;
  int last = 0;        ///< itself included
  FieldValues values;  ///< complete; other than the machine's in node fields only

  bool operator==(const NodePart&) const = default;
};

/// A field in which the nodes of one machine may differ, and what it is on nodes of another
/// accelerator when nobody gives it.
struct NodeField {
  enum class Otherwise : std::uint8_t {
    Machine,    ///< as on the other nodes
    Catalogue,  ///< the catalogue's `property`; for memory what the system reports, else nominal
    Default,    ///< the kind's default: what was measured of one accelerator is not another's
  };
  std::string_view name;
  Otherwise otherwise = Otherwise::Machine;
  Property property = Property::MemoryReported;
};

/// A kind of fabric: parameters (a field table) and the function that builds devices, links and
/// routes.
struct PlatformKind {
  std::string_view name;
  std::string_view summary;
  std::vector<FieldInfo> fields;
  Result<Platform> (*expand)(const FieldValues& values, std::span<const NodePart> parts) = nullptr;
  std::string_view parts_of = {};  ///< the field that counts what parts are made of: `nodes`,
                                   ///< `slices`; empty: a machine of this kind has one node
  std::vector<NodeField> node_fields = {};  ///< besides `accelerator`
};

/// Every kind we know, in the order `pipecast platform list` prints.
std::vector<PlatformKind> builtin_platform_kinds();

const PlatformKind* find_platform_kind(std::span<const PlatformKind> kinds, std::string_view name);

/// The one gate: the kind's expand, then check(Platform). Of parts that overlap the first counts.
Result<Platform> make_platform(const PlatformKind& kind, const FieldValues& values,
                               std::span<const NodePart> parts = {});

}  // namespace pipecast

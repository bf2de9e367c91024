#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/base/fields.hpp"
#include "sim/model/platform.hpp"

namespace pipecast {

/// A kind of fabric: parameters (a field table) and the function that builds devices, links and
/// routes.
struct PlatformKind {
  std::string_view name;
  std::string_view summary;
  std::vector<FieldInfo> fields;
  Result<Platform> (*expand)(const FieldValues& values) = nullptr;
};

/// Every kind we know, in the order `pipecast platform list` prints.
std::vector<PlatformKind> builtin_platform_kinds();

const PlatformKind* find_platform_kind(std::span<const PlatformKind> kinds, std::string_view name);

/// The one gate: the kind's expand, then check(Platform).
Result<Platform> make_platform(const PlatformKind& kind, const FieldValues& values);

}  // namespace pipecast

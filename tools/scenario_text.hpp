#pragma once
#include <string>

#include "sim/base/quantity.hpp"
#include "sim/read/scenario.hpp"

namespace pipecast {

/// The shortest text with a unit that reads back as exactly `value` (in the base unit).
std::string exact_text(double value, Dimension dimension);

/// A parameter as a scenario or a command line would give it.
std::string field_text(FieldKind kind, const FieldValue& value);

/// A scenario written out with every key it may have, as YAML that reads back as the same scenario.
/// Keys that the file did not give carry `# default`; what a preset said carries its name.
std::string scenario_text(const Scenario& scenario, const ReadContext& context);

}  // namespace pipecast

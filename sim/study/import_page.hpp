#pragma once
#include <string_view>

#include "sim/report/page.hpp"
#include "sim/study/measured_compare.hpp"

namespace pipecast {

/// The page of an import: both timelines above each other, where the measured step's time beyond
/// the ideal arises (on its critical path, per rank, per kind of operation and gap), how far each
/// rank is behind the prediction over the step, and the tables. `scenario_text` is what the
/// prediction was made of; empty: the measured profile.
Page import_page(const ImportReport& report, std::string_view scenario_text = {});

}  // namespace pipecast

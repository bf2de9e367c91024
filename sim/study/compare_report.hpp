#pragma once
#include <iosfwd>
#include <string_view>
#include <vector>

#include "sim/study/compare.hpp"

namespace pipecast {

/// The rows as a table with one line each; the refused ones below with their reasons.
void write_compare_text(const std::vector<CompareRow>& rows, std::ostream& out);

/// `"format": "pipecast.compare/1"`: every field of CompareRow, per row.
void write_compare_json(const std::vector<CompareRow>& rows, std::string_view scenario,
                        std::string_view engine, std::ostream& out);

}  // namespace pipecast

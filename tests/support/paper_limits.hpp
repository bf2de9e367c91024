#pragma once
#include <string>
#include <vector>

#include "tests/support/csv_table.hpp"
#include "tests/support/searched.hpp"

namespace pipecast::testing {

/// A printed bubble rate of the authors' searching schedules (tests/published/data).
struct PrintedLimit {
  std::string source;
  std::string model;
  PaperCase paper;
  double bubble = 0;

  std::string label() const {
    return paper.schedule + " " + model + " P=" + std::to_string(paper.shape.ranks) +
           " m=" + std::to_string(paper.shape.microbatches) + " at " + format_number(paper.limit);
  }
};

inline std::vector<PrintedLimit> printed_limits() {
  std::vector<PrintedLimit> printed;
  for (const test::CsvRow& row :
       test::read_csv_table(PIPECAST_TEST_DIR "/published/data/zero_bubble_memory_limits.csv")) {
    const auto us = [&](const char* column) { return Seconds{row.number(column) * 1e-6}; };
    const double hidden = row.number("hidden");
    printed.push_back(
        {row.text("source"),
         row.text("model"),
         {.schedule = row.text("schedule"),
          .shape = {row.integer("ranks"), row.integer("chunks"), row.integer("microbatches")},
          .cost = {us("forward_us"), us("backward_input_us"), us("backward_weight_us")},
          .message = us("message_us"),
          .activation_bytes = 34 * hidden + 5 * row.number("heads") * 1024,
          .weight_gradient_bytes = 32 * hidden,
          .limit = row.number("limit")},
         row.number("bubble")});
  }
  return printed;
}

}  // namespace pipecast::testing

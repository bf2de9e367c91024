#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/study/formulas.hpp"

namespace pipecast {

/// What a simulation says about a point, in ticks and counts.
struct FormulaMeasurement {
  std::int64_t makespan = 0;
  std::int64_t busiest = 0;  ///< compute of the busiest rank
  std::int64_t work = 0;     ///< compute of all ranks
  std::int64_t largest_span = 0;
  std::int64_t messages = 0;
  std::int64_t first_stage_forwards = 0;  ///< per step, whole microbatches
  int stages_held = 0;                    ///< stage copies on a rank, the most of any
  std::vector<int> peaks;                 ///< per rank, released by B or W
  std::vector<int> peaks_at_input;        ///< per rank, released by B or I
  std::vector<int> versions;              ///< per rank

  int largest_peak() const;
};

/// Simulations by longest path, each made once.
class FormulaRuns {
 public:
  explicit FormulaRuns(std::span<const ScheduleInfo> schedules) : schedules_(schedules) {}

  /// Nothing where the schedule is not valid on the shape. `parameter` takes the value at.n.
  const FormulaMeasurement* at(std::string_view schedule, std::string_view parameter,
                               const FormulaPoint& at);

 private:
  using Key = std::tuple<std::string_view, std::string_view, int, int, int, int, std::int64_t,
                         std::int64_t, std::int64_t, std::int64_t>;
  using ProgramKey = std::tuple<std::string_view, std::string_view, int, int, int, int>;

  const Program* program_of(const ScheduleInfo& schedule, std::string_view parameter,
                            const FormulaPoint& at, const Workload& workload);

  std::span<const ScheduleInfo> schedules_;
  ProgramKey program_key_;  ///< of the program kept: a grid visits a shape's costs in a row
  std::optional<Program> program_;
  std::map<Key, std::optional<FormulaMeasurement>> made_;
};

/// The points at which a form is looked at: the shapes that a schedule may take, each with every
/// cost set and delay. Some are not valid for it; those have no simulation.
std::vector<FormulaPoint> formula_grid(const FormulaInfo& formula, const ScheduleInfo& schedule);

/// The grid in words.
std::string formula_grid_text();

}  // namespace pipecast

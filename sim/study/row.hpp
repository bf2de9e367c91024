#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipecast {

/// Who produced the numbers of a row.
enum class Tier : std::uint8_t {
  Screening,  ///< longest path: links are not shared
  Simgrid,    ///< links are shared
};
std::string_view tier_name(Tier tier);

/// What became of a candidate. Constraints of the study are judged later, from the figures.
enum class RowState : std::uint8_t {
  Evaluated,  ///< it runs; whether it fits is in the figures
  Refused,    ///< shape, layout, machine: it cannot be put together
  TooLarge,   ///< it needs more than a device holds; not run
  Malformed,  ///< the scenario it makes is wrong as a text
  Crashed,    ///< its worker died, twice
};

/// The numbers of a row, all in base units. One step of one pipeline, unless a name says otherwise.
struct Figures {
  double step_s = 0;
  double ideal_s = 0;
  double bubble_fraction = 0;
  double bubble_overhead = 0;
  double span_bubble_fraction = 0;
  double warmup_idle_s = 0;  ///< mean over the ranks, like the idle times after it
  double steady_idle_s = 0;
  double cooldown_idle_s = 0;
  double waiting_for_transfer_s = 0;
  double waiting_for_collective_s = 0;
  double peak_memory_bytes = 0;  ///< of the rank that has least room
  double peak_activation_bytes = 0;
  double static_bytes = 0;
  double capacity_bytes = 0;  ///< 0: the platform does not say
  double tightest_rank = 0;
  double pipeline_ranks = 0;
  double devices = 0;          ///< that the layout uses
  double tokens_per_step = 0;  ///< of all replicas; 0: not known
  double model_flops = 0;      ///< of a step, all replicas; 0: not known
  double peak_flops = 0;       ///< of all devices together; 0: not known
  double tasks = 0;

  bool operator==(const Figures&) const = default;
};

struct FigureColumn {
  std::string_view name;
  double Figures::*member;
  bool needs_no_run = false;  ///< known of candidates that are too large, too
};
/// Every figure by name: the columns of the store, the export and the wire.
std::span<const FigureColumn> figure_columns();

/// One candidate, as one tier saw it.
struct StudyRow {
  std::int64_t candidate = 0;
  Tier tier = Tier::Screening;
  RowState state = RowState::Evaluated;
  double short_by = 0;  ///< what is missing, for nearest misses: bytes with TooLarge, else 0
  std::string reason;   ///< one line; empty when Evaluated or TooLarge
  Figures figures;
  std::string accelerators = {};  ///< of the layout's devices: `a100_sxm4_80gb 32, h100_sxm5_80gb
                                  ///< 32`; empty when nothing ran or the platform names none

  bool operator==(const StudyRow&) const = default;
};

/// How many devices of a row are of each accelerator.
struct AcceleratorCount {
  std::string accelerator;
  double devices = 0;

  bool operator==(const AcceleratorCount&) const = default;
};
std::string accelerators_text(std::span<const AcceleratorCount> counts);
std::vector<AcceleratorCount> accelerator_counts(std::string_view text);

/// A row as bytes and back, for a pipe between two processes of one program.
std::string to_bytes(const StudyRow& row);
StudyRow row_from_bytes(std::string_view bytes);

}  // namespace pipecast

#include "sim/study/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <type_traits>

#include "sim/base/quantity.hpp"

namespace pipecast {
namespace {

static_assert(std::is_trivially_copyable_v<Figures>);

constexpr std::array kColumns{
    FigureColumn{"step_s", &Figures::step_s},
    FigureColumn{"ideal_s", &Figures::ideal_s},
    FigureColumn{"bubble_fraction", &Figures::bubble_fraction},
    FigureColumn{"bubble_overhead", &Figures::bubble_overhead},
    FigureColumn{"span_bubble_fraction", &Figures::span_bubble_fraction},
    FigureColumn{"warmup_idle_s", &Figures::warmup_idle_s},
    FigureColumn{"steady_idle_s", &Figures::steady_idle_s},
    FigureColumn{"cooldown_idle_s", &Figures::cooldown_idle_s},
    FigureColumn{"waiting_for_transfer_s", &Figures::waiting_for_transfer_s},
    FigureColumn{"waiting_for_collective_s", &Figures::waiting_for_collective_s},
    FigureColumn{"peak_memory_bytes", &Figures::peak_memory_bytes, true},
    FigureColumn{"peak_activation_bytes", &Figures::peak_activation_bytes, true},
    FigureColumn{"static_bytes", &Figures::static_bytes, true},
    FigureColumn{"capacity_bytes", &Figures::capacity_bytes, true},
    FigureColumn{"tightest_rank", &Figures::tightest_rank, true},
    FigureColumn{"pipeline_ranks", &Figures::pipeline_ranks, true},
    FigureColumn{"devices", &Figures::devices, true},
    FigureColumn{"tokens_per_step", &Figures::tokens_per_step},
    FigureColumn{"model_flops", &Figures::model_flops},
    FigureColumn{"peak_flops", &Figures::peak_flops},
    FigureColumn{"tasks", &Figures::tasks},
};
static_assert(sizeof(Figures) == kColumns.size() * sizeof(double), "every figure has a column");

/// What a row is on the wire before its reason and its accelerators.
struct Head {
  std::int64_t candidate = 0;
  std::uint64_t reason_size = 0;
  double short_by = 0;
  Figures figures;
  Tier tier = Tier::Screening;
  RowState state = RowState::Evaluated;
};

}  // namespace

std::string_view tier_name(Tier tier) {
  switch (tier) {
    case Tier::Screening:
      return "screening";
    case Tier::Simgrid:
      return "simgrid";
  }
  return "?";
}

std::span<const FigureColumn> figure_columns() { return kColumns; }

std::string accelerators_text(std::span<const AcceleratorCount> counts) {
  std::string text;
  for (const AcceleratorCount& count : counts)
    text += fmt::format("{}{} {:.0f}", text.empty() ? "" : ", ", count.accelerator, count.devices);
  return text;
}

std::vector<AcceleratorCount> accelerator_counts(std::string_view text) {
  std::vector<AcceleratorCount> counts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(", "), text.size());
    const std::string_view entry = text.substr(0, end);
    const std::size_t blank = entry.rfind(' ');
    if (blank == std::string_view::npos) return counts;
    const auto devices = parse_number(entry.substr(blank + 1));
    counts.push_back({std::string(entry.substr(0, blank)), devices.value_or(0)});
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return counts;
}

std::string to_bytes(const StudyRow& row) {
  const Head head{row.candidate, row.reason.size(), row.short_by, row.figures, row.tier, row.state};
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes + row.reason + row.accelerators;
}

StudyRow row_from_bytes(std::string_view bytes) {
  Head head;
  assert(bytes.size() >= sizeof head && "a row on the wire has its head");
  std::memcpy(&head, bytes.data(), sizeof head);
  const std::string_view texts = bytes.substr(sizeof head);
  return {head.candidate,
          head.tier,
          head.state,
          head.short_by,
          std::string(texts.substr(0, head.reason_size)),
          head.figures,
          std::string(texts.substr(head.reason_size))};
}

}  // namespace pipecast

#include "sim/read/framework_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cost/ulysses.hpp"

namespace pipecast {

Framework guess_framework(std::string_view text, const std::string& file) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const char first = begin == std::string_view::npos ? '\0' : text[begin];
  if (file.ends_with(".toml") || text.find("[parallelism]") != std::string_view::npos ||
      text.find("\"parallelism\"") != std::string_view::npos)
    return Framework::Torchtitan;
  return first == '{' ? Framework::Deepspeed : Framework::Megatron;
}

Result<FrameworkRun> read_framework_run(std::string_view text, const std::string& file,
                                        const FrameworkHints& hints) {
  switch (guess_framework(text, file)) {
    case Framework::Megatron:
      return read_megatron_arguments(text, file, hints);
    case Framework::Deepspeed:
      return read_deepspeed_config(text, file, hints);
    case Framework::Torchtitan:
      return read_torchtitan_config(text, file, hints);
  }
  return fail(input_error("an unknown framework"));
}

Result<std::vector<StageLayers>> stages_of(const FrameworkRun& run) {
  if (!run.model) return fail(input_error("the model is not known"));
  if (Diagnostics faults = check(run.layout, *run.model); !faults.empty())
    return fail(std::move(faults));
  if (run.context_exchange == ContextExchange::Ulysses)
    if (Diagnostics faults = check_ulysses(run.layout, *run.model); !faults.empty())
      return fail(std::move(faults));
  if (run.layout_string.empty()) return split_layers(*run.model, run.layout, run.split);
  auto stages = parse_layout_string(run.layout_string);
  if (!stages) return stages;
  if (Diagnostics faults = check(*stages, *run.model, run.layout); !faults.empty())
    return fail(std::move(faults));
  return stages;
}

void use_stages(FrameworkRun& run, const std::vector<StageLayers>& stages) {
  if (!run.model) return;
  const auto even = split_layers(*run.model, run.layout, run.split);
  run.layout_string = even && *even == stages ? std::string{} : layout_string(stages);
}

Result<int> data_degree(const ParallelLayout& layout, int devices) {
  const std::int64_t group = bounded_product({layout.tensor, layout.pipeline, layout.context});
  if (group > 0 && devices % group == 0) return static_cast<int>(devices / group);
  const std::int64_t below = group > 0 ? devices / group * group : 0;
  return fail(infeasible(
      fmt::format("{} devices do not divide by tensor × pipeline × context, {} × {} × {}", devices,
                  layout.tensor, layout.pipeline, layout.context),
      below > 0 ? fmt::format("nearest: {} or {}", below, below + group)
                : fmt::format("at least {}", group)));
}

}  // namespace pipecast

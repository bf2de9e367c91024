#include "sim/read/measured_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "sim/read/text_file.hpp"
#include "sim/read/trace_operations.hpp"

namespace pipecast {
namespace {

/// Digits behind the last `rank` of a file name, `-` and `_` between them allowed; −1 without.
int rank_in_name(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  std::size_t at = name.rfind("rank");
  if (at == std::string::npos) return -1;
  at += 4;
  while (at < name.size() && (name[at] == '-' || name[at] == '_')) ++at;
  int rank = -1;
  std::from_chars(name.data() + at, name.data() + name.size(), rank);
  return rank < kMaxRanks ? rank : -1;
}

bool has_suffix(std::string path, std::initializer_list<std::string_view> suffixes) {
  if (path.ends_with(".gz")) path.resize(path.size() - 3);
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return path.ends_with(suffix); });
}

SourceSpan in_file(const std::string& file) {
  SourceSpan where;
  where.file = file;
  return where;
}

Result<std::string> text_of(const std::string& path, std::size_t limit_bytes) {
  Result<ByteSource> source = ByteSource::open(path);
  if (!source) return fail(std::move(source.error()));
  std::string text;
  for (; !source->ended() && text.size() <= limit_bytes; source->advance())
    text += source->current();
  if (!source->fault().empty() && text.size() <= limit_bytes)
    return fail(
        input_error(fmt::format("the file {} (at byte {})", source->fault(), source->offset()), {},
                    in_file(path)));
  if (text.size() > limit_bytes)
    return fail(input_error(fmt::format("the file is larger than {} MiB", limit_bytes >> 20), {},
                            in_file(path)));
  return text;
}

/// What the files read so far add up to.
class Collector {
 public:
  Diagnostics add_file(const std::string& path) {
    if (has_suffix(path, {".csv"})) return add_text(path, kMaxCsvBytes);
    if (has_suffix(path, {".yaml", ".yml"})) return add_text(path, kMaxYamlBytes);
    Result<ByteSource> source = ByteSource::open(path);
    if (!source) return std::move(source.error());
    Result<TraceContent> content = read_trace(std::move(*source), path);
    if (!content) return std::move(content.error());
    if (!content->has_events && content->has_intervals) return add_text(path, kMaxYamlBytes);
    return add_trace(std::move(*content), path);
  }

  Result<MeasuredRun> take() {
    if (world_ > 0 && from_traces_ > 0 && from_traces_ < world_)
      run_.notes.push_back(fmt::format("{} of {} ranks given: taken for one pipeline of {}",
                                       from_traces_, world_, from_traces_));
    close_ranks();
    Diagnostics faults = tidy(run_);
    if (!faults.empty()) return fail(std::move(faults));
    put_on_one_clock();
    return std::move(run_);
  }

 private:
  Diagnostics add_text(const std::string& path, std::size_t limit) {
    const Result<std::string> text = text_of(path, limit);
    if (!text) return text.error();
    Result<MeasuredRun> more = has_suffix(path, {".csv"})
                                   ? read_interval_csv(*text, path)
                                   : read_interval_tree(*text, path, rank_in_name(path));
    if (!more) return std::move(more.error());
    for (MeasuredStep& step : more->steps)
      for (std::size_t rank = 0; rank < step.ranks.size(); ++rank)
        if (!step.ranks[rank].ops.empty())
          if (auto fault = put(step.name, rank, std::move(step.ranks[rank]), path)) return {*fault};
    return {};
  }

  Diagnostics add_trace(TraceContent content, const std::string& path) {
    int rank = content.rank >= 0 ? content.rank : rank_in_name(path);
    if (rank < 0) rank = from_traces_;
    if (rank >= kMaxRanks) return {input_error("the rank is too large", {}, in_file(path))};
    if (content.is_cut) run_.notes.push_back(path + ": too many events, the last were left out");
    world_ = std::max(world_, content.world);
    ++from_traces_;
    Result<std::vector<MeasuredRank>> steps = rank_steps(std::move(content), rank, path);
    if (!steps) return std::move(steps.error());
    for (std::size_t i = 0; i < steps->size(); ++i)
      if (auto fault = put(fmt::format("step {}", i), static_cast<std::size_t>(rank),
                           std::move((*steps)[i]), path))
        return {*fault};
    return {};
  }

  std::optional<Diagnostic> put(const std::string& step_name, std::size_t rank, MeasuredRank ops,
                                const std::string& path) {
    const auto found =
        std::find_if(run_.steps.begin(), run_.steps.end(),
                     [&](const MeasuredStep& step) { return step.name == step_name; });
    MeasuredStep& step = found != run_.steps.end() ? *found : run_.steps.emplace_back();
    step.name = step_name;
    if (step.ranks.size() <= rank) step.ranks.resize(rank + 1);
    const auto [other, is_new] = file_of_.emplace(std::pair(step_name, rank), path);
    if (!is_new)
      return input_error(
          fmt::format("rank {} has two files: '{}' and '{}'", rank, other->second, path),
          "give one file per rank, of one run", in_file(path));
    step.ranks[rank] = std::move(ops);
    return std::nullopt;
  }

  /// Global ranks of one pipeline of a larger job become 0 … P−1 in their order.
  void close_ranks() {
    if (from_traces_ == 0) return;
    for (MeasuredStep& step : run_.steps) {
      if (static_cast<int>(step.ranks.size()) == from_traces_) continue;
      std::erase_if(step.ranks, [](const MeasuredRank& rank) { return rank.ops.empty(); });
    }
  }

  /// The earliest begin of each step is its 0.
  void put_on_one_clock() {
    for (MeasuredStep& step : run_.steps) {
      double zero = step.ranks.front().begin_s;
      for (const MeasuredRank& rank : step.ranks) zero = std::min(zero, rank.begin_s);
      for (MeasuredRank& rank : step.ranks) {
        rank.begin_s -= zero;
        rank.end_s -= zero;
        for (MeasuredOp& op : rank.ops) {
          op.begin_s -= zero;
          op.end_s -= zero;
        }
      }
    }
  }

  MeasuredRun run_;
  std::map<std::pair<std::string, std::size_t>, std::string> file_of_;
  int from_traces_ = 0;
  int world_ = -1;
};

}  // namespace

Result<MeasuredRun> read_measured_files(std::span<const std::string> paths) {
  if (paths.empty()) return fail(input_error("no trace is given"));
  Collector collector;
  Diagnostics faults;
  for (const std::string& path : paths) {
    for (Diagnostic& fault : collector.add_file(path))
      if (faults.size() < FaultList::kMaxFaults) faults.push_back(std::move(fault));
  }
  if (!faults.empty()) return fail(std::move(faults));
  return collector.take();
}

}  // namespace pipecast

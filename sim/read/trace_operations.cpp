#include "sim/read/trace_operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include "sim/read/trace_extent.hpp"

namespace pipecast {
namespace {

/// `1F3` at the begin of `text`, taken off it.
std::optional<Op> take_op(std::string_view& text) {
  const auto number = [&]() -> std::optional<int> {
    int value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc() || value < 0 || value > kMaxMicrobatches) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
  };
  const auto stage = number();
  if (!stage) return std::nullopt;
  for (const OpKind kind :
       {OpKind::SendForward, OpKind::ReceiveForward, OpKind::SendBackward, OpKind::ReceiveBackward,
        OpKind::Forward, OpKind::BackwardFull, OpKind::BackwardInput, OpKind::BackwardWeight}) {
    if (!text.starts_with(op_word(kind))) continue;
    text.remove_prefix(op_word(kind).size());
    const auto microbatch = number();
    if (!microbatch) return std::nullopt;
    return Op{.kind = kind, .stage = {*stage}, .microbatch = {*microbatch}};
  }
  return std::nullopt;
}

/// The operations that an annotation names; none for UNSHARD and the like.
std::vector<Op> ops_of(std::string_view name, int rank) {
  for (const auto& [word, kind] :
       {std::pair{std::string_view("Forward "), OpKind::Forward},
        std::pair{std::string_view("Backward "), OpKind::BackwardFull}}) {
    if (!name.starts_with(word)) continue;
    std::string text = fmt::format("{}{}{}", rank, op_word(kind), name.substr(word.size()));
    std::string_view rest = text;
    const auto op = take_op(rest);
    return op && rest.empty() ? std::vector{*op} : std::vector<Op>{};
  }
  name.remove_prefix(3);  // PP:
  std::vector<Op> ops;
  const bool pair = name.starts_with('(');
  if (pair) name.remove_prefix(1);
  while (const auto op = take_op(name)) {
    ops.push_back(*op);
    if (!pair || !name.starts_with(';')) break;
    name.remove_prefix(1);
  }
  if (pair ? !name.starts_with(')') : !name.empty()) return {};
  return ops;
}

using TransferKey = std::tuple<OpKind, int, int>;

/// What one trace says, laid out for look-ups in time.
class RankTrace {
 public:
  RankTrace(TraceContent& content, int rank) : content_(content), rank_(rank) {
    const auto by_begin = [](const auto& a, const auto& b) { return a.begin_us < b.begin_us; };
    std::stable_sort(content.host.begin(), content.host.end(), by_begin);
    std::stable_sort(content.device.begin(), content.device.end(), by_begin);
    std::stable_sort(content.receives.begin(), content.receives.end(), by_begin);
    std::stable_sort(content.host_ops.begin(), content.host_ops.end(), by_begin);
    for (const TraceSlice& slice : content.host) note_receive(slice);
  }

  std::vector<MeasuredRank> steps() {
    const bool on_device = !content_.device.empty();
    for (const TraceSlice& slice : on_device ? content_.device : content_.host) {
      std::vector<Op> ops = ops_of(slice.name, rank_);
      if (!ops.empty() && is_compute(ops.front().kind)) {
        const std::size_t step = step_of(ops.front(), slice);
        sights_.push_back(on_device ? SliceSight{.begin_us = slice.begin_us, .end_us = slice.end_us}
                                    : sight(slice, ops));
        computed_.push_back({step, slice.begin_us, std::move(ops)});
        end_step(step, slice);
      } else if (!steps_.empty()) {
        end_step(steps_.size() - 1, slice);
      }
    }
    const double head_us = usual_head_us(sights_);
    for (std::size_t i = 0; i < computed_.size(); ++i)
      add(computed_[i], extent_of(sights_[i], head_us));
    return std::move(steps_);
  }

 private:
  /// A slice that computes.
  struct Computed {
    std::size_t step = 0;
    double slice_begin_us = 0;
    std::vector<Op> ops;
  };

  /// A posted receive lies in the annotation of its cell and lasts until the message is there.
  void note_receive(const TraceSlice& slice) {
    const std::vector<Op> ops = ops_of(slice.name, rank_);
    if (ops.size() != 1 || !is_receive(ops.front().kind)) return;
    const auto receive =
        std::lower_bound(content_.receives.begin(), content_.receives.end(), slice.begin_us,
                         [](const TraceSlice& a, double at) { return a.begin_us < at; });
    if (receive == content_.receives.end() || receive->begin_us > slice.end_us) return;
    arrivals_[{ops.front().kind, ops.front().stage.value, ops.front().microbatch.value}].push_back(
        receive->end_us);
  }

  std::size_t step_of(const Op& op, const TraceSlice& slice) {
    const std::size_t number = seen_[{op.kind, op.stage.value, op.microbatch.value}]++;
    while (steps_.size() <= number) {
      const double at_s = slice.begin_us * 1e-6;
      steps_.push_back({.begin_s = at_s, .end_s = at_s, .ops = {}, .transfers = {}});
    }
    return number;
  }

  void end_step(std::size_t step, const TraceSlice& slice) {
    steps_[step].end_s = std::max(steps_[step].end_s, slice.end_us * 1e-6);
  }

  /// When the awaited message of the operation was there; the begin of the slice without one.
  double arrival_us(const TraceSlice& slice, const Op& op) const {
    double latest = slice.begin_us;
    const OpKind kind = is_forward(op.kind) ? OpKind::ReceiveForward : OpKind::ReceiveBackward;
    const auto found = arrivals_.find({kind, op.stage.value, op.microbatch.value});
    if (op.kind != OpKind::BackwardWeight && found != arrivals_.end())
      for (const double at : found->second)
        if (at <= slice.end_us) latest = std::max(latest, at);
    if (!slice.name.starts_with("PP:"))  // posts and awaits inside its own slice
      for (const TraceSlice& receive : content_.receives)
        if (receive.begin_us >= slice.begin_us && receive.end_us <= slice.end_us)
          latest = std::max(latest, receive.end_us);
    return latest;
  }

  /// The second of a pair waits for its own input when the first is done.
  SliceSight sight(const TraceSlice& slice, const std::vector<Op>& ops) const {
    return look_into({.slice = slice,
                      .input_us = arrival_us(slice, ops.front()),
                      .second_input_us = arrival_us(slice, ops.back()),
                      .is_forward = ops.size() == 1 && is_forward(ops.front().kind),
                      .posts_inside = !slice.name.starts_with("PP:")},
                     content_.host_ops);
  }

  void add(const Computed& computed, const SliceExtent& extent) {
    const std::vector<Op>& ops = computed.ops;
    const double waited_s = (extent.begin_us - computed.slice_begin_us) * 1e-6;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const bool first = i == 0;
      const bool last = i + 1 == ops.size();
      steps_[computed.step].ops.push_back(
          {.kind = ops[i].kind,
           .joined = !last,
           .stage = ops[i].stage,
           .microbatch = ops[i].microbatch,
           .begin_s = (first ? extent.begin_us : extent.cut_us) * 1e-6,
           .end_s = (last ? extent.end_us : extent.cut_us) * 1e-6,
           .waited_s = first ? waited_s : 0});
    }
  }

  TraceContent& content_;
  int rank_;
  std::map<TransferKey, std::vector<double>> arrivals_;
  std::map<TransferKey, std::size_t> seen_;
  std::vector<MeasuredRank> steps_;
  std::vector<Computed> computed_;
  std::vector<SliceSight> sights_;  ///< of `computed_`
};

MeasuredKernels kernels_of(std::vector<double> lengths_us) {
  if (lengths_us.empty()) return {};
  std::sort(lengths_us.begin(), lengths_us.end());
  return {static_cast<int>(lengths_us.size()), lengths_us.front() * 1e-6,
          lengths_us[lengths_us.size() / 2] * 1e-6};
}

}  // namespace

Result<std::vector<MeasuredRank>> rank_steps(TraceContent content, int rank,
                                             const std::string& file) {
  SourceSpan where;
  where.file = file;
  std::vector<MeasuredRank> steps = RankTrace(content, rank).steps();
  if (steps.empty())
    return fail(input_error(
        fmt::format(
            "the trace is of no pipeline: {} events, {} kernels, no annotation like 'PP:1F3'",
            content.events, content.kernels),
        "PyTorch's runtime writes them for every schedule but its own 1F1B loop; or give the "
        "intervals as CSV",
        where));
  for (MeasuredRank& step : steps) step.transfers = kernels_of(content.transfer_kernels_us);
  return steps;
}

}  // namespace pipecast

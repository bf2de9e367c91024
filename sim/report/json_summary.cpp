#include <fmt/format.h>

#include "sim/graph/fabric_traffic.hpp"
#include "sim/report/exporters.hpp"
#include "sim/report/footprint_groups.hpp"
#include "sim/report/text_sink.hpp"

namespace pipecast {
namespace {

/// Writes the members of one JSON object, a comma between them.
class Members {
 public:
  Members(TextSink& sink, std::string_view separator) : sink_(sink), separator_(separator) {}

  TextSink& key(std::string_view name) {
    if (!first_) sink_.text(",");
    first_ = false;
    return sink_.text(separator_).text("\"").text(name).text("\": ");
  }
  Members& text(std::string_view name, std::string_view value) {
    key(name).quoted(value);
    return *this;
  }
  Members& number(std::string_view name, double value) {
    key(name).number(value);
    return *this;
  }
  Members& integer(std::string_view name, std::int64_t value) {
    key(name).integer(value);
    return *this;
  }
  Members& flag(std::string_view name, bool value) {
    key(name).text(value ? "true" : "false");
    return *this;
  }

 private:
  TextSink& sink_;
  std::string_view separator_;
  bool first_ = true;
};

/// `[` … `]` with one element a line.
template <class List, class Write>
void write_list(TextSink& sink, const List& list, Write write) {
  sink.text("[");
  bool first = true;
  for (const auto& element : list) {
    sink.text(first ? "\n    " : ",\n    ");
    first = false;
    write(element);
  }
  sink.text(first ? "]" : "\n  ]");
}

template <class List, class Fill>
void write_objects(TextSink& sink, const List& list, Fill fill) {
  write_list(sink, list, [&](const auto& element) {
    sink.text("{");
    Members members(sink, " ");
    fill(members, element);
    sink.text(" }");
  });
}

void fill_rank(Members& members, const RankSummary& rank, const Platform& platform) {
  members.integer("rank", rank.rank.value)
      .text("device", platform.devices[rank.device.at()].name)
      .text("accelerator", platform.devices[rank.device.at()].accelerator)
      .number("busy_s", rank.busy_s)
      .number("idle_s", rank.idle_s)
      .number("waiting_for_transfer_s", rank.waiting_for_transfer_s)
      .number("warmup_idle_s", rank.warmup_idle_s)
      .number("steady_idle_s", rank.steady_idle_s)
      .number("cooldown_idle_s", rank.cooldown_idle_s)
      .number("gap_s", rank.gap_s)
      .number("span_s", rank.span_s)
      .number("exposed_collectives_s", rank.exposed_collectives_s)
      .number("optimizer_s", rank.optimizer_s)
      .number("peak_activation_bytes", rank.peak_activation.value)
      .integer("peak_in_flight", rank.peak_in_flight)
      .integer("peak_in_flight_free_at_input", rank.peak_in_flight_free_at_input)
      .number("static_bytes", rank.static_memory.value)
      .integer("weight_versions", rank.weight_versions)
      .integer("weight_staleness", rank.weight_staleness)
      .number("peak_bytes", rank.peak_memory.value)
      .number("capacity_bytes", rank.capacity.value)
      .flag("fits", rank.fits);
}

void fill_stage(Members& members, const StageSummary& stage) {
  members.integer("stage", stage.stage.value)
      .integer("rank", stage.rank.value)
      .number("forward_s", stage.forward_s)
      .number("backward_input_s", stage.backward_input_s)
      .number("backward_weight_s", stage.backward_weight_s)
      .number("peak_activation_bytes", stage.peak_activation.value)
      .integer("peak_in_flight", stage.peak_in_flight);
}

void write_schedule(TextSink& sink, const RunView& run) {
  sink.text("{");
  Members members(sink, " ");
  members.text("name", run.schedule)
      .integer("ranks", run.program.shape.ranks)
      .integer("chunks", run.program.shape.chunks)
      .integer("microbatches", run.program.microbatches_per_step())
      .integer("cuts", run.program.cuts.count());
  sink.text(" }");
}

void write_delays(TextSink& sink, const Delays& delays) {
  sink.text("{");
  Members members(sink, " ");
  members.integer("samples", delays.samples);
  if (delays.samples > 0)
    members.number("least_s", delays.least_s)
        .number("median_s", delays.median_s)
        .number("p95_s", delays.p95_s)
        .number("most_s", delays.most_s);
  write_list(members.key("blame_s"), delays.blame_s, [&](double blame_s) { sink.number(blame_s); });
  sink.text(" }");
}

/// `[` … `]` on one line, for lists inside a list.
template <class List, class Fill>
void write_inner_objects(TextSink& sink, const List& list, Fill fill) {
  sink.text("[");
  bool first = true;
  for (const auto& element : list) {
    sink.text(first ? "{" : ", {");
    first = false;
    Members members(sink, " ");
    fill(members, element);
    sink.text(" }");
  }
  sink.text("]");
}

void write_fabric(TextSink& sink, const RunView& run) {
  write_objects(sink, run.traffic->levels, [&](Members& members, const LevelTraffic& level) {
    members.text("level", level.level.name)
        .text("links", level.level.links)
        .integer("link_count", static_cast<std::int64_t>(level.level.count));
    std::vector<TrafficKind> kinds;
    for (const TrafficKind kind : kTrafficKinds)
      if (level.of(kind).messages > 0) kinds.push_back(kind);
    write_inner_objects(members.key("traffic"), kinds, [&](Members& crossing, TrafficKind kind) {
      crossing.text("kind", traffic_name(kind))
          .integer("messages", level.of(kind).messages)
          .number("bytes", level.of(kind).bytes)
          .number("link_bytes", level.of(kind).link_bytes);
    });
    write_inner_objects(members.key("busiest"), level.busiest,
                        [&](Members& busy, const BusyLink& link) {
                          busy.text("link", run.platform.links[link.link.at()].name)
                              .number("bytes", link.bytes)
                              .number("utilization", link.seconds / run.summary.makespan_s);
                        });
  });
}

void write_estimate(Members& top, TextSink& sink, const StepEstimate& step) {
  top.key("throughput").text("{");
  Members members(sink, " ");
  members.number("step_s", step.step_s)
      .number("tokens_per_s", step.tokens_per_s)
      .number("tokens_per_s_per_device", step.tokens_per_s_per_device)
      .number("model_flops_utilization", step.model_flops_utilization)
      .number("hardware_flops_utilization", step.hardware_flops_utilization)
      .number("tflops_per_device", step.tflops_per_device)
      .integer("devices", step.devices);
  sink.text(" }");
  write_objects(top.key("waterfall"), step.waterfall, [](Members& line, const WaterfallPart& part) {
    line.text("part", part.key).number("seconds", part.seconds).text("meaning", part.meaning);
  });
}

void write_parts(TextSink& sink, const MemoryParts& parts) {
  sink.text("{");
  Members members(sink, " ");
  for (std::size_t part = 0; part < kMemoryParts; ++part)
    members.number(kMemoryPartNames[part], parts.bytes[part]);
  sink.text(" }");
}

void write_footprints(Members& top, std::span<const RankFootprint> ranks) {
  std::int64_t number = 0;
  write_objects(top.key("memory"), ranks, [&](Members& members, const RankFootprint& rank) {
    members.integer("rank", number++)
        .number("peak_bytes", rank.peak.value)
        .number("peak_at_s", rank.peak_at_s)
        .number("needed_bytes", rank.needed.value)
        .number("capacity_bytes", rank.capacity.value)
        .flag("fits", rank.fits)
        .number("missing_bytes", missing(rank).value)
        .number("offloaded_bytes", rank.offloaded.value);
    write_parts(members.key("at_peak"), rank.at_peak);
    write_parts(members.key("part_peaks"), rank.part_peaks);
  });
}

}  // namespace

void write_json_summary(const RunView& run, std::ostream& out) {
  const Summary& summary = run.summary;
  TextSink sink(out);
  sink.text("{");
  Members top(sink, "\n  ");
  top.text("format", "pipecast.run/1").text("scenario", run.scenario).text("engine", run.engine);
  write_schedule(top.key("schedule"), run);
  top.number("makespan_s", summary.makespan_s)
      .number("ideal_s", summary.ideal_s)
      .number("bubble_fraction", summary.bubble_fraction)
      .number("bubble_overhead", summary.bubble_overhead)
      .number("max_rank_span_s", summary.max_rank_span_s)
      .number("span_bubble_fraction", summary.span_bubble_fraction)
      .integer("steps", summary.steps)
      .number("step_s", summary.step_s);
  if (run.lower_bound)
    top.number("lower_bound_s", run.lower_bound->at_least_s)
        .text("lower_bound_of", run.lower_bound->of_makespan ? "makespan_s" : "max_rank_span_s")
        .number("lower_bound_gap", run.lower_bound->gap(summary));
  top.integer("tasks", summary.tasks).text("digest", fmt::format("{:016x}", summary.digest));
  top.integer("replicas", run.replicas).integer("replicas_simulated", run.replicas_simulated);
  if (run.delays != nullptr) write_delays(top.key("delays"), *run.delays);
  if (run.estimate != nullptr) write_estimate(top, sink, *run.estimate);
  if (!run.footprints.empty()) write_footprints(top, run.footprints);
  write_list(top.key("warnings"), run.warnings,
             [&](const std::string& line) { sink.quoted(line); });
  write_objects(top.key("ranks"), summary.ranks, [&](Members& members, const RankSummary& rank) {
    fill_rank(members, rank, run.platform);
  });
  write_objects(top.key("stages"), summary.stages, fill_stage);
  write_objects(top.key("links"), summary.links, [&](Members& members, const LinkSummary& link) {
    members.text("link", run.platform.links[link.link.at()].name)
        .number("bytes", link.bytes)
        .number("busy_s", link.busy_s)
        .number("utilization", link.utilization);
  });
  if (run.traffic != nullptr) write_fabric(top.key("fabric"), run);
  sink.text("\n}\n");
}

}  // namespace pipecast

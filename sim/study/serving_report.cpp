#include "sim/study/serving_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "sim/cost/activation.hpp"
#include "sim/report/footprint_groups.hpp"
#include "sim/report/text_sink.hpp"

namespace pipecast {
namespace {

/// Percentiles over all requests.
struct Latencies {
  double p50 = 0;
  double p99 = 0;
  double mean = 0;
};

Latencies latencies_of(std::vector<double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  const auto count = static_cast<double>(values.size());
  return {percentile(values, 0.5), percentile(values, 0.99), sum / count};
}

struct ServedFigures {
  Latencies request;      ///< end − arrival
  Latencies first_token;  ///< first token − arrival
  Latencies per_token;    ///< between the tokens of a request
  double tokens_per_s = 0;
  double requests_per_s = 0;
  double utilization = 0;  ///< mean busy share of the stages
};

ServedFigures figures_of(const ServingReport& report) {
  const ServingResult& served = *report.served;
  std::vector<double> whole;
  std::vector<double> first;
  std::vector<double> between;
  for (std::size_t i = 0; i < served.requests.size(); ++i) {
    const ServedRequest& each = served.requests[i];
    const ServingScenario::Request& asked = report.scenario.requests[i];
    whole.push_back(each.end_s - asked.arrival_s);
    first.push_back(each.first_token_s - asked.arrival_s);
    if (asked.output_tokens > 1)
      between.push_back((each.end_s - each.first_token_s) / (asked.output_tokens - 1));
  }
  if (between.empty()) between.push_back(0);
  ServedFigures figures{latencies_of(whole), latencies_of(first), latencies_of(between)};
  figures.tokens_per_s = served.output_tokens / served.end_s;
  figures.requests_per_s = static_cast<double>(served.requests.size()) / served.end_s;
  double busy = 0;
  for (const double seconds : served.stage_busy_s) busy += seconds;
  figures.utilization = busy / (served.end_s * static_cast<double>(served.stage_busy_s.size()));
  return figures;
}

std::string latency_line(const char* what, const Latencies& latencies) {
  return fmt::format("  {:<22} p50 {:>10}  p99 {:>10}  mean {:>10}\n", what,
                     format(Seconds{latencies.p50}), format(Seconds{latencies.p99}),
                     format(Seconds{latencies.mean}));
}

void write_curve(const ServingReport& report, std::ostream& out) {
  out << fmt::format("\ndecoding, {} tokens cached per sequence, {} microbatches in flight\n",
                     report.scenario.curve_context, report.scenario.groups);
  out << fmt::format("{:>8} {:>14} {:>12} {:>12} {:>12}  {}\n", "batch", "per token", "tokens/s",
                     "busy", "cache", "");
  for (const DecodePoint& point : report.curve)
    out << fmt::format("{:>8} {:>14} {:>12.1f} {:>10.1f} % {:>12}  {}\n", point.batch,
                       format(Seconds{point.step_s}), point.tokens_per_s, 100 * point.utilization,
                       format(Bytes{point.cache_bytes}), point.fits ? "" : "does not fit");
  const int limit =
      largest_batch(report.plan, report.scenario.groups, report.scenario.curve_context);
  if (limit >= 0) out << fmt::format("largest batch that fits: {}\n", limit);
}

void write_served(const ServingReport& report, std::ostream& out) {
  const ServedFigures figures = figures_of(report);
  const ServingResult& served = *report.served;
  out << fmt::format("\n{} requests, {} batching, at most {} per microbatch: {:.1f} s\n",
                     served.requests.size(), report.scenario.continuous ? "continuous" : "static",
                     report.scenario.batch, served.end_s)
      << latency_line("request", figures.request)
      << latency_line("first token", figures.first_token)
      << latency_line("per further token", figures.per_token)
      << fmt::format("  {:.1f} tokens/s, {:.2f} requests/s, stages busy {:.1f} % of the time\n",
                     figures.tokens_per_s, figures.requests_per_s, 100 * figures.utilization)
      << fmt::format("  {} passes; most tokens reserved in the cache: {:.0f}", served.passes.size(),
                     served.peak_cached_tokens);
  if (report.capacity_tokens > 0) out << fmt::format(" of {:.0f}", report.capacity_tokens);
  out << "\n";
}

void number(TextSink& sink, std::string_view separator, std::string_view key, double value) {
  sink.text(separator).text("\"").text(key).text("\": ").number(value);
}

void latency_object(TextSink& sink, std::string_view key, const Latencies& latencies) {
  sink.text(",\n    \"").text(key).text("\": {");
  number(sink, "", "p50", latencies.p50);
  number(sink, ", ", "p99", latencies.p99);
  number(sink, ", ", "mean", latencies.mean);
  sink.text("}");
}

void served_object(TextSink& sink, const ServingReport& report) {
  const ServedFigures figures = figures_of(report);
  sink.text(",\n  \"served\": {\n    \"batching\": ")
      .quoted(report.scenario.continuous ? "continuous" : "static");
  number(sink, ",\n    ", "requests", static_cast<double>(report.served->requests.size()));
  number(sink, ",\n    ", "makespan_s", report.served->end_s);
  number(sink, ",\n    ", "passes", static_cast<double>(report.served->passes.size()));
  number(sink, ",\n    ", "tokens_per_s", figures.tokens_per_s);
  number(sink, ",\n    ", "requests_per_s", figures.requests_per_s);
  number(sink, ",\n    ", "utilization", figures.utilization);
  number(sink, ",\n    ", "peak_reserved_tokens", report.served->peak_cached_tokens);
  latency_object(sink, "request_latency_s", figures.request);
  latency_object(sink, "first_token_latency_s", figures.first_token);
  latency_object(sink, "per_token_latency_s", figures.per_token);
  sink.text("\n  }");
}

}  // namespace

Result<ServingReport> serving_report(const ServingScenario& scenario) {
  auto plan = serving_plan(scenario.model.model, scenario.layout, scenario.device,
                           scenario.weight_bytes, scenario.cache_bytes);
  if (!plan) return fail(plan.error());
  ServingReport report{scenario, std::move(*plan), 0, {}, std::nullopt};
  report.capacity_tokens = cache_capacity_tokens(report.plan);
  for (const int batch : scenario.curve_batches)
    report.curve.push_back(
        decode_point(report.plan, batch, scenario.groups, scenario.curve_context));
  if (scenario.requests.empty()) return report;
  std::vector<ServingRequest> requests;
  for (const ServingScenario::Request& each : scenario.requests)
    requests.push_back({each.arrival_s, each.prompt_tokens, each.output_tokens});
  const ServingRules rules{scenario.continuous ? Batching::Continuous : Batching::Static,
                           scenario.groups, scenario.batch, scenario.prefill_tokens};
  auto served = serve(report.plan, rules, requests);
  if (!served) return fail(served.error());
  report.served = std::move(*served);
  return report;
}

void write_serving_text(const ServingReport& report, std::ostream& out) {
  const ServingPlan& plan = report.plan;
  double weights = 0;
  double cache = 0;
  for (const ServingStage& stage : plan.stages) {
    weights = std::max(weights, plan.weight_bytes * stage.kept_elements());
    cache = std::max(cache, stage.cache_per_token);
  }
  out << report.scenario.name << "\n"
      << fmt::format("  {} on {} devices: tensor {} × pipeline {}\n", plan.model.name,
                     plan.layout.devices(), plan.layout.tensor, plan.layout.pipeline)
      << fmt::format("  weights {} and cache {} per token on the fullest device\n",
                     format(Bytes{weights}), format(Bytes{cache}))
      << fmt::format("  cache of the whole model: {} per token\n",
                     format(key_value_bytes_per_token(plan.model, plan.cache_bytes)));
  if (report.capacity_tokens > 0)
    out << fmt::format("  room for {:.0f} tokens\n", report.capacity_tokens);
  if (report.scenario.groups < plan.layout.pipeline)
    out << fmt::format("  {} microbatches in flight keep {} of {} stages busy\n",
                       report.scenario.groups, report.scenario.groups, plan.layout.pipeline);
  write_curve(report, out);
  if (report.served) write_served(report, out);
  for (const std::string& warning : report.scenario.warnings) out << "warning: " << warning << "\n";
}

void write_serving_json(const ServingReport& report, std::ostream& out) {
  TextSink sink(out);
  sink.text("{\n  \"format\": \"pipecast.serve/1\",\n  \"scenario\": ")
      .quoted(report.scenario.name);
  sink.text(",\n  \"model\": ").quoted(report.plan.model.name);
  number(sink, ",\n  ", "tensor", report.plan.layout.tensor);
  number(sink, ",\n  ", "pipeline", report.plan.layout.pipeline);
  number(sink, ",\n  ", "groups", report.scenario.groups);
  number(sink, ",\n  ", "key_value_bytes_per_token",
         key_value_bytes_per_token(report.plan.model, report.plan.cache_bytes).value);
  number(sink, ",\n  ", "cache_capacity_tokens", report.capacity_tokens);
  number(sink, ",\n  ", "largest_batch",
         largest_batch(report.plan, report.scenario.groups, report.scenario.curve_context));
  sink.text(",\n  \"curve\": [");
  const char* separator = "\n    {";
  for (const DecodePoint& point : report.curve) {
    number(sink.text(separator), "", "batch", point.batch);
    number(sink, ", ", "step_s", point.step_s);
    number(sink, ", ", "tokens_per_s", point.tokens_per_s);
    number(sink, ", ", "utilization", point.utilization);
    number(sink, ", ", "flops_share", point.model_flops_share);
    number(sink, ", ", "cache_bytes", point.cache_bytes);
    const Fit fit = fit_of(report.plan.device.memory, point.fits);
    sink.text(", \"fits\": ").text(json_word(fit)).text("}");
    separator = ",\n    {";
  }
  sink.text("\n  ]");
  if (report.served) served_object(sink, report);
  sink.text(",\n  \"warnings\": [");
  for (std::size_t i = 0; i < report.scenario.warnings.size(); ++i)
    sink.text(i > 0 ? ", " : "").quoted(report.scenario.warnings[i]);
  sink.text("]");
  sink.text("\n}\n");
}

void write_serving_csv(const ServingReport& report, std::ostream& out) {
  out << "request,arrival_s,first_token_s,end_s,prompt_tokens,output_tokens,group\n";
  if (!report.served) return;
  for (std::size_t i = 0; i < report.served->requests.size(); ++i) {
    const ServedRequest& each = report.served->requests[i];
    const ServingScenario::Request& asked = report.scenario.requests[i];
    out << fmt::format("{},{},{},{},{},{},{}\n", i, format_number(asked.arrival_s),
                       format_number(each.first_token_s), format_number(each.end_s),
                       asked.prompt_tokens, asked.output_tokens, each.group);
  }
}

}  // namespace pipecast

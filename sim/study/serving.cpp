#include "sim/study/serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace pipecast {
namespace {

struct ActiveRequest {
  std::size_t number = 0;
  int cached = 0;     ///< tokens of prompt and output so far
  int left = 0;       ///< outputs still to come
  bool read = false;  ///< its prompt has been
};

struct Group {
  double ready_s = 0;
  std::vector<ActiveRequest> active;
};

/// Cache that comes free at a time.
struct Release {
  double time_s;
  double tokens;
};

class Server {
 public:
  Server(const ServingPlan& plan, const ServingRules& rules,
         const std::vector<ServingRequest>& requests)
      : plan_(plan),
        rules_(rules),
        requests_(requests),
        limit_(plan.device.memory.value > 0 ? cache_capacity_tokens(plan)
                                            : std::numeric_limits<double>::infinity()),
        groups_(static_cast<std::size_t>(rules.groups)),
        free_s_(plan.stages.size(), 0),
        order_(requests.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t left, std::size_t right) {
      return requests[left].arrival_s < requests[right].arrival_s;
    });
    result_.requests.resize(requests.size());
    result_.stage_busy_s.assign(plan.stages.size(), 0);
  }

  Result<ServingResult> run() {
    for (const ServingRequest& request : requests_)
      if (needed(request) > limit_)
        return fail(infeasible(
            fmt::format("a request of {} + {} tokens does not fit into a cache of {:.0f} tokens",
                        request.prompt_tokens, request.output_tokens, limit_),
            "more stages, a larger tensor group, or fewer bytes per weight"));
    while (served_ < requests_.size()) {
      if (result_.passes.size() >= kMaxPasses)
        return fail(infeasible(fmt::format("more than {} passes", kMaxPasses),
                               "fewer requests, or larger batches"));
      Group& group = *std::min_element(
          groups_.begin(), groups_.end(),
          [](const Group& left, const Group& right) { return left.ready_s < right.ready_s; });
      const double now = std::max(group.ready_s, free_s_[0]);
      admit(group, now);
      if (group.active.empty())
        group.ready_s = next_chance(now);
      else
        pass(group);
    }
    return std::move(result_);
  }

 private:
  static double needed(const ServingRequest& request) {
    return double{1} * request.prompt_tokens + request.output_tokens;
  }

  /// Takes waiting requests that have arrived, while batch, prompt tokens and cache allow.
  void admit(Group& group, double now) {
    if (rules_.batching == Batching::Static && !group.active.empty()) return;
    release_until(now);
    double prompts = 0;
    while (next_ < order_.size() && static_cast<int>(group.active.size()) < rules_.batch) {
      const ServingRequest& request = requests_[order_[next_]];
      if (request.arrival_s > now || reserved_ + needed(request) > limit_) return;
      if (prompts > 0 && prompts + request.prompt_tokens > rules_.prefill_tokens) return;
      prompts += request.prompt_tokens;
      reserved_ += needed(request);
      result_.peak_cached_tokens = std::max(result_.peak_cached_tokens, reserved_);
      result_.requests[order_[next_]].group = static_cast<int>(&group - groups_.data());
      group.active.push_back({order_[next_], 0, request.output_tokens, false});
      ++next_;
    }
  }

  void release_until(double now) {
    std::erase_if(releases_, [&](const Release& release) {
      if (release.time_s > now) return false;
      reserved_ -= release.tokens;
      return true;
    });
  }

  /// When an idle group should look again: at an arrival, or when cache comes free.
  double next_chance(double now) const {
    double chance = std::numeric_limits<double>::infinity();
    if (next_ < order_.size() && requests_[order_[next_]].arrival_s > now)
      chance = requests_[order_[next_]].arrival_s;
    for (const Release& release : releases_)
      if (release.time_s > now) chance = std::min(chance, release.time_s);
    // The cache is held by groups that have yet to run: wait until one of them has.
    for (const Group& group : groups_)
      if (!group.active.empty())
        chance = std::min(chance, std::nextafter(std::max(group.ready_s, now),
                                                 std::numeric_limits<double>::infinity()));
    return chance;
  }

  PassLoad load_of(const Group& group) const {
    PassLoad load;
    for (const ActiveRequest& each : group.active)
      load +=
          each.read ? decode_load(each.cached) : prefill_load(requests_[each.number].prompt_tokens);
    return load;
  }

  void pass(Group& group) {
    ServingPass pass{static_cast<int>(&group - groups_.data()), load_of(group), {}};
    double at = group.ready_s;
    for (std::size_t stage = 0; stage < plan_.stages.size(); ++stage) {
      const double start = std::max(at, free_s_[stage]);
      const double end = start + pass_seconds(plan_, stage, pass.load).value;
      pass.stages.push_back({start, end});
      free_s_[stage] = end;
      result_.stage_busy_s[stage] += end - start;
      const bool last = stage + 1 == plan_.stages.size();
      at = end + hop_seconds(plan_, last ? 0 : pass.load.tokens()).value;
    }
    const double done = pass.stages.back().end_s;
    group.ready_s = plan_.stages.size() > 1 ? at : done;
    give_tokens(group, done);
    result_.end_s = std::max(result_.end_s, done);
    result_.passes.push_back(std::move(pass));
  }

  void give_tokens(Group& group, double now) {
    for (ActiveRequest& each : group.active) {
      const ServingRequest& request = requests_[each.number];
      if (!each.read) {
        each.read = true;
        each.cached = request.prompt_tokens;
        result_.requests[each.number].first_token_s = now;
      }
      ++each.cached;
      ++result_.output_tokens;
      if (--each.left > 0) continue;
      result_.requests[each.number].end_s = now;
      releases_.push_back({now, needed(request)});
      ++served_;
    }
    std::erase_if(group.active, [](const ActiveRequest& each) { return each.left <= 0; });
  }

  const ServingPlan& plan_;
  const ServingRules& rules_;
  const std::vector<ServingRequest>& requests_;
  double limit_;
  std::vector<Group> groups_;
  std::vector<double> free_s_;
  std::vector<std::size_t> order_;
  std::vector<Release> releases_;
  std::size_t next_ = 0;
  std::size_t served_ = 0;
  double reserved_ = 0;
  ServingResult result_;
};

}  // namespace

Result<ServingResult> serve(const ServingPlan& plan, const ServingRules& rules,
                            const std::vector<ServingRequest>& requests) {
  if (rules.groups < 1 || rules.batch < 1)
    return fail(input_error("groups and batch are at least 1"));
  return Server(plan, rules, requests).run();
}

Program program_of(const ServingPlan& plan, const ServingResult& result) {
  const auto ranks = static_cast<int>(plan.stages.size());
  Program program;
  program.shape = {ranks, 1, static_cast<int>(result.passes.size())};
  program.placement.stages = ranks;
  for (int stage = 0; stage < ranks; ++stage) {
    program.placement.rank_of.push_back({stage});
    std::vector<Op> ops;
    for (int pass = 0; pass < program.shape.microbatches; ++pass) {
      Op op;
      op.kind = OpKind::Forward;
      op.stage = {stage};
      op.microbatch = {pass};
      ops.push_back(op);
    }
    program.ranks.push_back(std::move(ops));
  }
  return program;
}

Workload workload_of(const ServingPlan& plan, const ServingResult& result) {
  Workload workload;
  workload.stages = static_cast<int>(plan.stages.size());
  workload.microbatches = static_cast<int>(result.passes.size());
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)
    for (const ServingPass& pass : result.passes)
      workload.costs.push_back({{pass_seconds(plan, stage, pass.load)}, {}, {}});
  workload.bytes.resize(plan.stages.size());
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)
    workload.bytes[stage].parameters = {plan.weight_bytes * plan.stages[stage].kept_elements()};
  return workload;
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto index = static_cast<std::size_t>(std::max(1.0, rank)) - 1;
  return values[std::min(index, values.size() - 1)];
}

}  // namespace pipecast

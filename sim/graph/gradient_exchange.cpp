#include "sim/graph/gradient_exchange.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace pipecast {
namespace {

constexpr std::uint32_t kNone = 0xffffffffU;

/// Where a stage's work stands on one rank.
struct StageWork {
  std::uint32_t first_forward = kNone;
  std::vector<std::size_t> uses;                ///< of its parameters: places in its rank's order
  std::vector<std::uint32_t> weight_gradients;  ///< program order
};

/// Whose parameters: all devices of a stage hold them, or those of the same experts.
enum class Owner : std::uint8_t { All, Experts };

class Exchanges {
 public:
  Exchanges(const TaskGraph& pipeline, const Program& program, const Workload& workload,
            const ParallelLayout& layout)
      : program_(program),
        workload_(workload),
        layout_(layout),
        work_(static_cast<std::size_t>(program.placement.stages) * program.ranks.size()),
        order_(program.ranks.size()) {
    for (std::uint32_t task = 0; task < pipeline.tasks.size(); ++task)
      if (is_work(pipeline.tasks[task])) visit(pipeline.tasks[task], task);
  }

  Result<std::vector<Exchange>> list() {
    for (int stage = 0; stage < program_.placement.stages; ++stage) add_stage({stage});
    if (!faults_.empty()) return fail(std::move(faults_));
    std::stable_sort(early_.begin(), early_.end(), [](const Exchange& a, const Exchange& b) {
      return std::tie(a.before.front(), a.share) < std::tie(b.before.front(), b.share);
    });
    std::stable_sort(reductions_.begin(), reductions_.end(),
                     [](const Exchange& a, const Exchange& b) {
                       return std::tie(a.after, a.share) < std::tie(b.after, b.share);
                     });
    std::vector<Exchange> all = std::move(early_);
    all.insert(all.end(), reductions_.begin(), reductions_.end());
    all.insert(all.end(), late_.begin(), late_.end());
    return all;
  }

 private:
  StageWork& work(std::int32_t stage, std::int32_t rank) {
    return work_[static_cast<std::size_t>(stage) * program_.ranks.size() +
                 static_cast<std::size_t>(rank)];
  }

  void visit(const Task& task, std::uint32_t id) {
    const std::vector<Op>& ops = program_.ranks[static_cast<std::size_t>(task.rank)];
    for (std::size_t i = 0; i < task.cell_ops; ++i) {
      const Op& op = ops[static_cast<std::size_t>(task.position) + i];
      StageWork& here = work(op.stage.value, task.rank);
      if (is_forward(op.kind) && here.first_forward == kNone) here.first_forward = id;
      const std::size_t place = order_[static_cast<std::size_t>(task.rank)].size();
      if ((is_forward(op.kind) || produces_input_gradient(op.kind)) &&
          (here.uses.empty() || here.uses.back() != place))
        here.uses.push_back(place);
      if (op.kind == OpKind::BackwardFull || op.kind == OpKind::BackwardWeight)
        here.weight_gradients.push_back(id);
    }
    order_[static_cast<std::size_t>(task.rank)].push_back(id);
  }

  std::vector<int> holders(Stage stage) const {
    std::vector<int> ranks;
    const auto stages = static_cast<std::size_t>(program_.placement.stages);
    for (int way = 0; way < program_.placement.directions(); ++way)
      ranks.push_back(
          program_.placement.rank_of[static_cast<std::size_t>(way) * stages + stage.at()].value);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  }

  void add_stage(Stage stage) {
    const StageSync& sync = workload_.sync[stage.at()];
    add_reductions(stage, sync.gradients - sync.expert_gradients, Owner::All);
    add_reductions(stage, sync.expert_gradients, Owner::Experts);
    if (layout_.zero == 0) return;
    add_gather(stage, sync.parameters - sync.expert_parameters, Owner::All);
    add_gather(stage, sync.expert_parameters, Owner::Experts);
  }

  double buckets_of(Bytes gradient) const {
    const Bytes bucket = layout_.gradient_reduction.bucket;
    return bucket.value > 0 ? std::ceil(gradient.value / bucket.value) : 1;
  }

  /// Buckets of a chunk follow each other; each is a collective of its own.
  void add_reductions(Stage stage, Bytes bytes, Owner owner) {
    if (bytes.value <= 0) return;
    const GradientReduction& how = layout_.gradient_reduction;
    const double pieces = buckets_of(bytes);
    if (pieces > kMaxBuckets) {
      faults_.push_back(infeasible("the gradient of stage " + std::to_string(stage.value) +
                                       " makes " + std::to_string(static_cast<long long>(pieces)) +
                                       " buckets; allowed are " + std::to_string(kMaxBuckets),
                                   "use a larger gradient_reduction.bucket"));
      return;
    }
    Exchange exchange;
    exchange.collective = layout_.zero > 0 ? Collective::ReduceScatter : Collective::AllReduce;
    exchange.algorithm = how.algorithm;
    exchange.bytes = bytes / pieces;
    exchange.stage = stage;
    exchange.experts = owner == Owner::Experts;
    exchange.ranks = holders(stage);
    for (const std::vector<std::uint32_t>& after : moments(exchange.ranks, stage)) {
      if (after.empty()) continue;  // nothing computes gradients
      exchange.after = after;
      for (int piece = 0; piece < static_cast<int>(pieces); ++piece) {
        exchange.share = how.overlap ? (piece + 1) / pieces : 1;
        reductions_.push_back(exchange);
      }
    }
  }

  /// The sets of tasks after which a gradient is added up.
  std::vector<std::vector<std::uint32_t>> moments(const std::vector<int>& ranks, Stage stage) {
    const GradientReduction& how = layout_.gradient_reduction;
    std::vector<std::vector<std::uint32_t>> result(1);
    for (const int rank : ranks) {
      const std::vector<std::uint32_t>& gradients = work(stage.value, rank).weight_gradients;
      if (gradients.empty()) continue;
      if (how.every_microbatch) {
        result.resize(std::max(result.size(), gradients.size()));
        for (std::size_t i = 0; i < gradients.size(); ++i) result[i].push_back(gradients[i]);
      } else {
        result.front().push_back(how.overlap ? gradients.back()
                                             : order_[static_cast<std::size_t>(rank)].back());
      }
    }
    return result;
  }

  void add_gather(Stage stage, Bytes bytes, Owner owner) {
    if (bytes.value <= 0) return;
    Exchange exchange;
    exchange.kind = OpKind::Unshard;
    exchange.collective = Collective::AllGather;
    exchange.algorithm = layout_.parameter_gather.algorithm;
    exchange.bytes = bytes;
    exchange.stage = stage;
    exchange.experts = owner == Owner::Experts;
    exchange.share = 0;
    exchange.ranks = holders(stage);
    if (layout_.gathers_each_use()) {
      for (const int rank : exchange.ranks) add_gathers_of_uses(exchange, rank);
      return;
    }
    for (const int rank : exchange.ranks)
      if (const std::uint32_t first = work(stage.value, rank).first_forward; first != kNone)
        exchange.before.push_back(first);
    if (layout_.parameter_gather.overlap || layout_.zero == 3) {
      // As many pieces as the gradient has, which is cut where a layer ends.
      const StageSync& sync = workload_.sync[stage.at()];
      const Bytes gradient =
          exchange.experts ? sync.expert_gradients : sync.gradients - sync.expert_gradients;
      const int pieces = static_cast<int>(std::max(1.0, buckets_of(gradient)));
      exchange.bytes = bytes / pieces;
      for (int piece = 0; piece < pieces; ++piece) {
        exchange.share = double{1} * piece / pieces;
        early_.push_back(exchange);
      }
      return;
    }
    exchange.before.clear();
    exchange.after_update = true;
    late_.push_back(exchange);
  }

  /// A copy of a stage gathers among its own replicas: while the operation before the use computes,
  /// or when it has ended.
  void add_gathers_of_uses(Exchange gather, int rank) {
    const std::vector<std::uint32_t>& order = order_[static_cast<std::size_t>(rank)];
    const std::size_t ahead = layout_.parameter_gather.overlap ? 2 : 1;
    gather.ranks = {rank};
    for (const std::size_t place : work(gather.stage.value, rank).uses) {
      gather.before = {order[place]};
      gather.after.clear();
      if (place >= ahead) gather.after = {order[place - ahead]};
      early_.push_back(gather);
    }
  }

  const Program& program_;
  const Workload& workload_;
  const ParallelLayout& layout_;
  std::vector<StageWork> work_;                    ///< [stage · ranks + rank]
  std::vector<std::vector<std::uint32_t>> order_;  ///< [rank] its operations
  std::vector<Exchange> early_;
  std::vector<Exchange> reductions_;
  std::vector<Exchange> late_;
  Diagnostics faults_;
};

}  // namespace

Result<std::vector<Exchange>> exchanges_of(const TaskGraph& pipeline, const Program& program,
                                           const Workload& workload, const ParallelLayout& layout) {
  if (workload.sync.empty()) return std::vector<Exchange>{};
  return Exchanges(pipeline, program, workload, layout).list();
}

Seconds update_seconds(const Program& program, const Workload& workload, int rank) {
  Seconds sum{};
  if (workload.sync.empty()) return sum;
  const auto stages = static_cast<std::size_t>(program.placement.stages);
  for (std::size_t place = 0; place < program.placement.rank_of.size(); ++place)
    if (program.placement.rank_of[place].value == rank)
      sum = sum + workload.sync[place % stages].optimizer;
  return sum;
}

}  // namespace pipecast

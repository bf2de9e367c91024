#include "sim/model/exchanges.hpp"

#include <string>
#include <vector>

namespace pipecast {
namespace {

class ExchangeChecker {
 public:
  explicit ExchangeChecker(const Program& program)
      : program_(program),
        microbatches_(static_cast<std::size_t>(program.shape.microbatches)),
        away_(static_cast<std::size_t>(program.placement.stages) * microbatches_, false),
        backward_at_(away_.size(), -1) {
    for (const std::vector<Op>& ops : program.ranks)
      for (std::size_t position = 0; position < ops.size(); ++position)
        if (produces_input_gradient(ops[position].kind))
          backward_at_[index(ops[position].stage, ops[position].microbatch)] =
              static_cast<std::int64_t>(position);
  }

  Diagnostics run() {
    for (const ActivationExchange& exchange : program_.exchanges) {
      if (faults_.size() >= kMaxReported) break;
      check(exchange);
    }
    return std::move(faults_);
  }

 private:
  std::size_t index(Stage stage, Microbatch microbatch) const {
    return stage.at() * microbatches_ + microbatch.at();
  }
  bool known(Microbatch microbatch) const {
    return microbatch.value >= 0 && microbatch.value < program_.shape.microbatches;
  }

  void check(const ActivationExchange& exchange) {
    const std::string what = "the exchange of stage " + std::to_string(exchange.stage.value) +
                             ", microbatch " + std::to_string(exchange.microbatch.value);
    const bool named = exchange.stage.value >= 0 &&
                       exchange.stage.value < program_.placement.stages &&
                       known(exchange.microbatch) && known(exchange.restore_after) &&
                       exchange.host.value >= 0 && exchange.host.value < program_.shape.ranks;
    if (!named) {
      faults_.push_back(infeasible(what + " names something the program does not have"));
      return;
    }
    const Rank home = program_.placement.rank(exchange.stage, exchange.microbatch);
    const bool returns_here =
        program_.placement.rank(exchange.stage, exchange.restore_after) == home;
    const std::size_t own = index(exchange.stage, exchange.microbatch);
    if (exchange.host == home)
      faults_.push_back(infeasible(what + " goes to the rank it comes from"));
    if (away_[own]) faults_.push_back(infeasible(what + " is there twice"));
    if (!returns_here ||
        backward_at_[index(exchange.stage, exchange.restore_after)] >= backward_at_[own])
      faults_.push_back(infeasible(what + " comes back after its backward"));
    away_[own] = true;
  }

  const Program& program_;
  std::size_t microbatches_;
  std::vector<bool> away_;
  std::vector<std::int64_t> backward_at_;  ///< [stage · microbatches + microbatch] list position
  Diagnostics faults_;
};

}  // namespace

Diagnostics check_exchanges(const Program& program) {
  if (program.exchanges.empty()) return {};
  return ExchangeChecker(program).run();
}

}  // namespace pipecast

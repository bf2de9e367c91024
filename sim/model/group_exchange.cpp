#include "sim/model/group_exchange.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/model/pass_parts.hpp"

namespace pipecast {
namespace {

void add(std::vector<CellExchange>& cell, const GroupExchange& exchange, const PassExchange& pass) {
  if (pass.bytes.value <= 0) return;
  const auto known = std::find_if(cell.begin(), cell.end(), [&](const CellExchange& other) {
    return other.group == exchange.group && other.collective == exchange.collective;
  });
  if (known == cell.end())
    cell.push_back({exchange.group, exchange.collective, pass});
  else
    known->pass += pass;
}

bool valid(double number) { return std::isfinite(number) && number >= 0; }

bool valid(const PassExchange& pass) {
  return valid(pass.bytes.value) && valid(pass.alone.value) && valid(pass.exposed.value) &&
         valid(pass.behind.value) && (pass.exposed <= pass.alone || pass.alone.value == 0);
}

}  // namespace

PassExchange& PassExchange::operator+=(const PassExchange& other) {
  bytes += other.bytes;
  alone += other.alone;
  exposed += other.exposed;
  behind += other.behind;
  return *this;
}

PassExchange operator*(const PassExchange& pass, double factor) {
  return {pass.bytes * factor, pass.alone * factor, pass.exposed * factor, pass.behind * factor};
}

std::vector<CellExchange> cell_exchanges(const Workload& workload, std::span<const Op> cell) {
  std::vector<CellExchange> result;
  if (workload.inside.empty()) return result;
  Seconds one_after_the_other = workload.overheads.operation;
  for (const Op& op : cell) {
    one_after_the_other += duration(workload, op);
    for (const GroupExchange& exchange : workload.inside[op.stage.at()]) {
      PassExchange pass = pass_of(workload, op, exchange.forward, exchange.backward_input,
                                  exchange.backward_weight) *
                          workload.seconds_share(op.microbatch);
      pass.bytes =
          pass_of(workload, op, exchange.forward, exchange.backward_input, exchange.backward_weight)
              .bytes *
          workload.bytes_share(op.microbatch);
      add(result, exchange, pass);
    }
  }
  double saved = std::max(0.0, (one_after_the_other - cell_duration(workload, cell)).value);
  if (cell.size() == 1) return result;
  for (CellExchange& exchange : result) {
    const double hidden = std::min(saved, exchange.pass.exposed.value);
    if (hidden <= 0) continue;
    exchange.pass.exposed = exchange.pass.exposed - Seconds{hidden};
    exchange.pass.behind = exchange.pass.alone - exchange.pass.exposed;
    saved -= hidden;
  }
  return result;
}

Diagnostics check_group_exchanges(const Workload& workload) {
  if (workload.inside.empty()) return {};
  const auto stages = static_cast<std::size_t>(workload.stages);
  if (workload.inside.size() != stages)
    return {input_error("what is exchanged inside the groups of a stage is given for " +
                        std::to_string(workload.inside.size()) + " of " + std::to_string(stages) +
                        " stages")};
  for (std::size_t stage = 0; stage < stages; ++stage)
    for (const GroupExchange& exchange : workload.inside[stage]) {
      const std::string what = "stage " + std::to_string(stage) + ": what its " +
                               std::string(dimension_name(exchange.group)) + " group exchanges";
      if (std::find(kGroupDimensions.begin(), kGroupDimensions.end(), exchange.group) ==
          kGroupDimensions.end())
        return {input_error(what + " is not inside its operations")};
      if (!valid(exchange.forward) || !valid(exchange.backward_input) ||
          !valid(exchange.backward_weight))
        return {
            input_error(what + " is negative, not finite, or exposed for longer than it lasts")};
    }
  return {};
}

}  // namespace pipecast

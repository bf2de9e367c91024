#include "sim/graph/transfers_writer.hpp"

#include <algorithm>
#include <string>

namespace pipecast {

Diagnostic not_lowered(std::string_view lowering, std::string_view reason) {
  return infeasible("lowering " + std::string(lowering) + ": " + std::string(reason),
                    "pytorch and batched lower any schedule");
}

Result<Program> if_same_order(Program lowered, const Program& program, std::string_view lowering,
                              std::string_view schedules) {
  const Program bare = without_communication(program);
  const Program issued = without_communication(lowered);
  for (std::size_t rank = 0; rank < bare.ranks.size(); ++rank) {
    const std::vector<Op>& wanted = bare.ranks[rank];
    const std::vector<Op>& given = issued.ranks[rank];
    if (wanted == given) continue;
    const auto differs = static_cast<std::size_t>(
        std::mismatch(wanted.begin(), wanted.end(), given.begin(), given.end()).first -
        wanted.begin());
    const std::string seen = differs < wanted.size() ? op_text(wanted[differs]) : "the end";
    const std::string own = differs < given.size() ? op_text(given[differs]) : "the end";
    return fail(not_lowered(lowering, "its loop runs " + std::string(schedules) + " only; rank " +
                                          std::to_string(rank) + " has " + seen +
                                          " where the loop has " + own));
  }
  return lowered;
}

bool has_pairs(const Program& bare) {
  return std::any_of(bare.ranks.begin(), bare.ranks.end(), [](const std::vector<Op>& ops) {
    return std::any_of(ops.begin(), ops.end(), [](const Op& op) { return op.joined; });
  });
}

bool is_loop_placed(const Program& program) {
  return program.placement == loop_placement(program.shape);
}

}  // namespace pipecast

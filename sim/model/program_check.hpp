#pragma once
#include <vector>

#include "sim/model/program.hpp"

namespace pipecast {

/// [rank] the first position that operations which could not be read may have had; the number of
/// read ones or more when they all could.
using FirstUnread = std::vector<std::int32_t>;

/// The violations of a program read in part that hold whatever the unread operations are: what may
/// be among them is not missing, and what they may precede is not too early. Rules about the
/// program as a whole (units, weights, exchanges) are not looked at. Same order as violations().
std::vector<Violation> certain_violations(const Program& program, FirstUnread first_unread);

}  // namespace pipecast

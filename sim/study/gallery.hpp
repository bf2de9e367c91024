#pragma once
#include <iosfwd>
#include <span>

#include "schedules/schedule.hpp"

namespace pipecast {

/// docs/gallery.md: every schedule with its diagram on a small shape (F = I = W), its figures, its
/// closed forms, and when to use it.
void write_gallery(std::span<const ScheduleInfo> schedules, std::ostream& out);

}  // namespace pipecast

#pragma once
#include "schedules/schedule.hpp"

/// One function per schedule, each defined in the file of its name; registry.cpp lists them.
namespace pipecast {

ScheduleInfo gpipe();
ScheduleInfo one_f_one_b();
ScheduleInfo interleaved_1f1b();
ScheduleInfo zb_h1();
ScheduleInfo zb_h2();

}  // namespace pipecast

#pragma once
#include "schedules/schedule.hpp"

/// One function per schedule, each defined in the file of its name; registry.cpp lists them.
namespace pipecast {

ScheduleInfo gpipe();
ScheduleInfo one_f_one_b();
ScheduleInfo eager_1f1b();
ScheduleInfo bpipe();
ScheduleInfo interleaved_1f1b();
ScheduleInfo combined_1f1b();
ScheduleInfo group_interleaved();
ScheduleInfo looped_bfs();
ScheduleInfo zb_h1();
ScheduleInfo zb_h2();
ScheduleInfo interleaved_zb();
ScheduleInfo zbv();
ScheduleInfo zb_auto();
ScheduleInfo zb_v_auto();
ScheduleInfo v_half();
ScheduleInfo v_min();
ScheduleInfo v_1f1b();
ScheduleInfo dualpipe();
ScheduleInfo dualpipe_v();
ScheduleInfo chimera();
ScheduleInfo hanayo();
ScheduleInfo pipedream();
ScheduleInfo pipedream_2bw();
ScheduleInfo seq1f1b();
ScheduleInfo forward_only();
ScheduleInfo forward_only_interleaved();

}  // namespace pipecast

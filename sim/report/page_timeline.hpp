#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/model/program.hpp"
#include "sim/report/idle.hpp"

namespace pipecast {

/// A box of a page's timeline.
struct TimelineBox {
  double start_s = 0;
  double end_s = 0;
  Op op;
  std::uint8_t chunk = 0;  ///< which of the rank's stages, or the direction: odd ones are hatched
  bool critical = false;   ///< on the critical path
};

struct TimelineMessage {
  double start_s = 0;
  double end_s = 0;
  OpKind kind = OpKind::SendForward;
  Stage stage;  ///< of the sender
  Microbatch microbatch;
  Rank from;
  Rank to;
  double bytes = 0;
  bool critical = false;
};

/// A row: what a rank computes, or one of its communication streams. Boxes in the order of time;
/// they do not overlap.
struct TimelineLine {
  std::string name;
  Rank rank;
  bool thin = false;  ///< communication: drawn half as high, below the rank's computation
  std::vector<TimelineBox> boxes = {};
  std::vector<IdleStretch> idle = {};
};

/// Everything the timeline of a run shows. A measured run fills it as well as a predicted one.
struct TimelineData {
  std::string name;
  double length_s = 0;
  std::vector<TimelineLine> lines;
  std::vector<TimelineMessage> messages;
  int stages = 1;
  bool many_chunks = false;  ///< boxes are named with their stage too
  std::vector<std::string> notes;
};

/// The JSON text of a timeline, its columns deflated: from less than a byte to about 8 a box. Times
/// are cut into 4·10⁹ ticks. O(boxes + messages).
struct PackedTimeline {
  std::string name;
  std::string json;
};
PackedTimeline pack_timeline(const TimelineData& timeline);

}  // namespace pipecast

#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/read/model_shape.hpp"

namespace pipecast {

/// Layers of a model that are alike, and what one of them holds.
struct LayerGroup {
  std::string kind;  ///< "encoder", "dense", "experts", "multi-token prediction"
  int first = 0;     ///< of its kind's numbering: encoder, decoder and prediction count separately
  int count = 0;
  double attention = 0;
  double feed_forward = 0;  ///< of every token: dense, router, shared experts
  double experts = 0;       ///< all routed ones
  double norms = 0;
  double other = 0;  ///< the projection of a prediction module

  double parameters() const { return attention + feed_forward + experts + norms + other; }
  bool operator==(const LayerGroup&) const = default;
};

/// The layers from the first to the last, runs of equal ones as one row. O(layers).
std::vector<LayerGroup> layer_groups(const TransformerModel& model);

/// For a reader: totals, ends, and a row per group.
void write_model_text(const ModelShape& shape, std::ostream& out);
/// JSON, `"format": "pipecast.model/1"`.
void write_model_json(const ModelShape& shape, std::ostream& out);

}  // namespace pipecast

#pragma once
#include "sim/cost/layer_time.hpp"

namespace pipecast {

/// What the encoder of a multimodal model costs a device, per microbatch of the decoder. It works
/// on tokens of its own, sees all of them (no causal mask), and is not cut along the sequence: a
/// context group computes it on every device.
struct EncoderPrices {
  UnitSeconds layer;      ///< one encoder layer
  UnitSeconds tokens;     ///< from pixels or frames to the first layer's input
  UnitSeconds connector;  ///< final norm and the two linear layers into the decoder
  LayerActivation held;   ///< of one layer, from its forward to its backward
  Bytes message;          ///< what a stage of encoder layers sends to the next one

  bool operator==(const EncoderPrices&) const = default;
};

/// Everything zero when the model has no encoder.
EncoderPrices encoder_prices(const TrainingPlan& plan, const DeviceModel& device,
                             const ClusterLinks& links);

}  // namespace pipecast

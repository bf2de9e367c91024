#pragma once
#include <span>
#include <string>
#include <string_view>

#include "sim/base/diagnostic.hpp"
#include "sim/read/model_shape.hpp"

namespace pipecast {

/// Text of a Hugging Face `config.json` → shape. The architecture (`model_type`) decides norm,
/// positions, biases and gating; multimodal files give the decoder under `text_config` and the
/// encoder under `vision_config`. A key that changes the shape and is not understood, or an
/// architecture that is not, is a fault with its line: a shape is never guessed. Keys that are
/// known to change nothing are passed over; those that change the work (sliding windows) and those
/// that are not known become notes.
Result<ModelShape> read_hf_config(std::string_view text, const std::string& file);

/// The same from a file, or from the config.json of a folder.
Result<ModelShape> read_hf_file(const std::string& path);

/// What a forecast with the model leaves out: the notes of a Hugging Face file. Those of a preset
/// say where its numbers are from. The shape must outlive the span.
std::span<const std::string> left_out(const ModelShape& shape);

}  // namespace pipecast

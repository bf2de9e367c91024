#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/read/yaml_cursor.hpp"

namespace pipecast {

/// A block of a framework's file and its keys; the name is empty for the file itself. What is
/// `unmodelled` changes a run and is not understood.
struct ConfigBlock {
  std::string_view name;
  std::span<const std::string_view> keys;
  std::span<const std::string_view> unmodelled;
};

std::span<const ConfigBlock> deepspeed_keys();
std::span<const ConfigBlock> torchtitan_keys();

/// Keys of the file and of its known blocks that are in no list: a fault where the word is close to
/// one that is, else a note. Unmodelled ones are one note.
void judge_keys(const YamlCursor& root, std::span<const ConfigBlock> blocks,
                std::vector<std::string>& notes);

}  // namespace pipecast

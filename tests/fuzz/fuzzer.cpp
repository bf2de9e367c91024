#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* text = static_cast<const char*>(static_cast<const void*>(data));
  pipecast::fuzzing::PIPECAST_FUZZ_TARGET({text, size});
  return 0;
}

#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platforms/platform_kind.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/cost/device_model.hpp"
#include "sim/model/platform.hpp"
#include "sim/read/model_shape.hpp"

namespace pipecast {

struct PlatformChoice;

/// What readers of many scenarios need again and again: machines, what their accelerators can do,
/// shapes of models. A scenario read with a cache is the one read without, as long as the files it
/// names stay the same. What cannot be read is not kept. Pointers are good until the next question
/// of the same kind. For one thread.
class ReadCache {
 public:
  /// The machine of a choice that is no file, checked; a constant delay joins `devices` devices.
  Result<const Platform*> machine(const PlatformChoice& choice, int devices,
                                  std::span<const PlatformKind> kinds);

  Result<const DeviceModel*> device(const std::string& accelerator,
                                    std::span<const std::string> preset_folders);

  Result<const Accelerator*> accelerator(const std::string& id,
                                         std::span<const std::string> preset_folders);

  /// read_model_block().
  std::optional<ModelShape> model(const YamlCursor& block, const std::string& file,
                                  std::span<const std::string> preset_folders);

 private:
  struct Machine {
    std::string kind;
    FieldValues values;
    std::vector<NodePart> parts;
    Seconds delay;
    int devices = 0;
    Platform platform;
  };
  std::vector<Machine> machines_;  ///< the last few, the last asked for at the end
  std::map<std::string, DeviceModel> devices_;
  std::map<std::string, Accelerator> accelerators_;
  std::map<std::string, ModelShape> models_;  ///< by file and text of the block
};

}  // namespace pipecast

#include "tools/preset_folders.hpp"

#include <filesystem>
#include <system_error>

namespace pipecast {

std::vector<std::string> preset_folders() {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  const fs::path installed = program.parent_path() / "../share/pipecast/platforms";
  if (!unknown && fs::is_directory(installed, unknown))
    return {installed.lexically_normal().string()};
  return {PIPECAST_SOURCE_PRESETS};
}

}  // namespace pipecast

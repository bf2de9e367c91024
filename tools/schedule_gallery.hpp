#pragma once
#include "tools/commands.hpp"

namespace pipecast {

/// `pipecast schedule gallery`: the page docs/gallery.md.
Command schedule_gallery_command();

}  // namespace pipecast

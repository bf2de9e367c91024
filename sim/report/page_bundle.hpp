#pragma once
#include <string_view>

namespace pipecast {

/// The script and the style of the pages, built from sim/report/page and embedded at build time.
/// Neither contains the end of the element that it is put into.
std::string_view page_script();
std::string_view page_style();

}  // namespace pipecast

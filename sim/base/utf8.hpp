#pragma once
#include <cstddef>
#include <string_view>

namespace pipecast {

/// Bytes of the UTF-8 sequence at the front of a text that is not empty; 0 when it is none: cut
/// short, overlong, a surrogate, or beyond U+10FFFF.
std::size_t utf8_length(std::string_view text);

}  // namespace pipecast

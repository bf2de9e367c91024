#pragma once

namespace pipecast {

/// Whole and exact in a double: what is written without an exponent, so that counts of bytes read
/// back as integers.
bool is_exact_integer(double number);

}  // namespace pipecast

#pragma once
#include <cstddef>
#include <vector>

namespace pipecast {

/// Asks the system to back this memory, not yet written, with large pages. First touches of
/// millions of small pages cost several times the work done in them. A hint only: where it is not
/// known or refused nothing changes. Small ranges are left alone.
void prefer_large_pages(void* begin, std::size_t bytes);

/// vector.reserve for vectors that are about to be filled with up to `count` elements.
template <class T>
void reserve_large(std::vector<T>& vector, std::size_t count) {
  vector.reserve(count);
  prefer_large_pages(vector.data(), vector.capacity() * sizeof(T));
}

}  // namespace pipecast

// Pages of host memory that are allocated on first access.
#pragma once

#include <cstdint>
#include <utility>

namespace st::dtu {

/// Memory from mmap: its pages are zero, and are allocated on first access.
class LazyMemory {
public:
  LazyMemory() = default;
  ~LazyMemory() { reset(); }
  LazyMemory(LazyMemory &&other) noexcept {
    std::swap(data, other.data), std::swap(bytes, other.bytes);
  }
  LazyMemory &operator=(LazyMemory &&other) noexcept {
    std::swap(data, other.data), std::swap(bytes, other.bytes);
    return *this;
  }
  enum class Pages { Large, Small };
  /// Returns false if the host refuses. Large pages save address translations but take 2 MiB per
  /// touched byte.
  bool allocate(int64_t size, Pages pages = Pages::Large);
  void reset();
  /// Allocates a range of pages. Other threads may read and write them concurrently.
  static void touch(uint8_t *begin, int64_t size);

  uint8_t *data = nullptr;
  int64_t bytes = 0;
};

} // namespace st::dtu

// Host memory for the simulator's working buffers.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace st::dtu {

/// A cache-line-aligned buffer that only grows. Growing discards its contents.
class HostBuffer {
public:
  uint8_t *grow(int64_t bytes) {
    if (size < bytes) {
      size = (bytes + 4095) / 4096 * 4096;
      data.reset(static_cast<uint8_t *>(std::aligned_alloc(64, static_cast<size_t>(size))));
    }
    return data.get();
  }

private:
  struct Free {
    void operator()(uint8_t *p) const { std::free(p); }
  };
  std::unique_ptr<uint8_t, Free> data;
  int64_t size = 0;
};

} // namespace st::dtu

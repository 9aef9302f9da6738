#include "lib/Runtime/Processes/BufferPool.h"

#include <utility>

namespace st {

BufferPool &BufferPool::get() {
  static BufferPool *const pool = new BufferPool;
  return *pool;
}

BufferPool::Buffer BufferPool::take(size_t size) {
  size_t bucket = kSmallest;
  while (bucket <= kLargest && (size_t(1) << bucket) < size)
    ++bucket;
  if (bucket > kLargest)
    return Buffer(new uint8_t[size], {bucket});
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (std::vector<std::unique_ptr<uint8_t[]>> &same = free[bucket]; !same.empty()) {
      Buffer buffer(same.back().release(), {bucket});
      same.pop_back();
      kept -= size_t(1) << bucket;
      return buffer;
    }
  }
  return Buffer(new uint8_t[size_t(1) << bucket], {bucket});
}

void BufferPool::release(uint8_t *buffer, size_t bucket) {
  std::unique_ptr<uint8_t[]> owned(buffer);
  std::lock_guard<std::mutex> lock(mutex);
  if (bucket > kLargest || kept + (size_t(1) << bucket) > kMaxKept)
    return;
  kept += size_t(1) << bucket;
  free[bucket].push_back(std::move(owned));
}

} // namespace st

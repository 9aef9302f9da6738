#include "backends/dtu/simulator/data/ScratchPool.h"

namespace st::dtu {

std::shared_ptr<ScratchPool> ScratchPool::shared() {
  static std::mutex mutex;
  static std::weak_ptr<ScratchPool> last;
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<ScratchPool> pool = last.lock();
  if (!pool)
    last = pool = std::make_shared<ScratchPool>();
  return pool;
}

LazyMemory ScratchPool::take(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<LazyMemory> &list = free[bytes];
  LazyMemory memory;
  if (!list.empty()) {
    memory = std::move(list.back());
    list.pop_back();
    return memory;
  }
  // A cluster that waits for a message keeps its memory; thousands of them in large pages would
  // take gigabytes.
  constexpr size_t kLargePages = 64;
  memory.allocate(bytes,
                  allocated++ < kLargePages ? LazyMemory::Pages::Large : LazyMemory::Pages::Small);
  return memory;
}

void ScratchPool::release(LazyMemory memory) {
  std::lock_guard<std::mutex> lock(mutex);
  free[memory.bytes].push_back(std::move(memory));
}

} // namespace st::dtu

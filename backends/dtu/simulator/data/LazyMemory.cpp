#include "backends/dtu/simulator/data/LazyMemory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

namespace st::dtu {

bool LazyMemory::allocate(int64_t size, Pages pages) {
  reset();
  bytes = std::max<int64_t>(size, 1);
  void *p = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return false;
  // The kernel may ignore this advice.
  madvise(p, static_cast<size_t>(bytes), pages == Pages::Large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  data = static_cast<uint8_t *>(p);
  return true;
}

void LazyMemory::touch(uint8_t *begin, int64_t size) {
#ifndef MADV_POPULATE_WRITE
  constexpr int MADV_POPULATE_WRITE = 23;
#endif
  if (madvise(begin, static_cast<size_t>(size), MADV_POPULATE_WRITE) == 0 || errno != EINVAL)
    return;
  // Before Linux 5.14: an atomic write that does not change the value.
  constexpr int64_t kPage = 4096;
  for (int64_t at = 0; at < size; at += kPage)
    __atomic_fetch_or(begin + at, uint8_t{0}, __ATOMIC_RELAXED);
}

void LazyMemory::reset() {
  if (data)
    munmap(data, static_cast<size_t>(bytes));
  data = nullptr;
}

} // namespace st::dtu

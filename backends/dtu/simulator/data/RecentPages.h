// L3 pages that were read recently, so the host's caches still hold them. Writes to these pages
// (in-place state updates) go into the caches; all other writes bypass them, because they would
// evict data that is used sooner.
#pragma once

#include <array>
#include <cstdint>

namespace st::dtu {

class RecentPages {
public:
  void noteRead(const uint8_t *low, const uint8_t *high) {
    for (uintptr_t page = pageOf(low), last = pageOf(high - 1); page <= last; ++page)
      entries[page % kEntries] = {page, ++reads};
  }
  /// May return false for a recent page whose entry was replaced.
  bool has(const uint8_t *byte) const {
    const Entry &entry = entries[pageOf(byte) % kEntries];
    return entry.page == pageOf(byte) && reads - entry.read < kWindow;
  }

private:
  static constexpr uintptr_t kPageBytes = 4096;
  /// Two MiB: the L2 cache of a large host.
  static constexpr uint64_t kWindow = 512;
  static constexpr uintptr_t kEntries = 4 * kWindow;
  static uintptr_t pageOf(const uint8_t *byte) {
    return reinterpret_cast<uintptr_t>(byte) / kPageBytes;
  }

  struct Entry {
    uintptr_t page = 0;
    uint64_t read = 0; ///< sequence number of the read
  };
  std::array<Entry, kEntries> entries = {};
  uint64_t reads = kWindow;
};

} // namespace st::dtu

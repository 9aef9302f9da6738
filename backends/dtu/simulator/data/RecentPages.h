// Pages of L3 that were read a short while ago, which the host's caches therefore hold. What is
// written there again (a state in place) is best written into the caches; all else past them, as
// it would push out what is needed sooner.
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
  /// May say no of a page whose entry another one took.
  bool has(const uint8_t *byte) const {
    const Entry &entry = entries[pageOf(byte) % kEntries];
    return entry.page == pageOf(byte) && reads - entry.read < kWindow;
  }

private:
  static constexpr uintptr_t kPageBytes = 4096;
  /// Two MiB: the second cache of a large host.
  static constexpr uint64_t kWindow = 512;
  static constexpr uintptr_t kEntries = 4 * kWindow;
  static uintptr_t pageOf(const uint8_t *byte) {
    return reinterpret_cast<uintptr_t>(byte) / kPageBytes;
  }

  struct Entry {
    uintptr_t page = 0;
    uint64_t read = 0; ///< its number
  };
  std::array<Entry, kEntries> entries = {};
  uint64_t reads = kWindow;
};

} // namespace st::dtu

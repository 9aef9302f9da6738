// Races of accesses in the repetitions that PeriodicOrder adds.
#pragma once

#include "backends/dtu/isa/order/PeriodicOrder.h"

#include <cstdint>
#include <vector>

namespace st::dtu {

/// Decides whether an access of a future repetition may race with an earlier or another future
/// access, although the corresponding access of the followed repetition did not.
class PeriodicOrder::Conflicts {
public:
  Conflicts(PeriodicOrder &periodic, const Search &search, const Gain &gain, int64_t times)
      : periodic(periodic), search(search), gain(gain), times(times) {}

  bool any();
  int64_t compared = 0;

private:
  /// Records of one instruction of an instance in one memory.
  struct Trail {
    int64_t memory, low, high; ///< [low, high) covers all bytes of all repetitions
    size_t instance;
    bool isWrite;
    std::vector<const Record *> records;
  };

  void makeTrails();
  StridedBytes all(const Record &record) const {
    return record.access.bytes.repeated(times + 1, record.change);
  }
  /// Returns true if the clock of a record's instance for another instance advances with each
  /// repetition.
  bool isFresh(const Record &record, size_t other) const {
    return gain.times[other] > 0 && timeNow(other) - record.known[other] < gain.lags[other];
  }
  int64_t timeNow(size_t index) const { return periodic.state.clocks[index][index]; }
  bool meet(const Record &one, const Record &other);
  /// Returns true if `later` may race with `earlier` of a previous repetition.
  bool conflictsWithEarlier(const Record &later, const Record &earlier);
  bool conflictsWithHistory(const Trail &trail);
  bool conflictsWithBox(const Record &record, size_t other, const AccessBox &box);

  PeriodicOrder &periodic;
  const Search &search;
  const Gain &gain;
  const int64_t times;
  std::vector<Trail> trails;
};

} // namespace st::dtu

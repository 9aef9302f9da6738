// Exact address ranges for registers with known, independent values: counters of loops with
// constant bounds, and the instance number. The program accesses both ends of each range, so a
// range that exceeds a memory is always an error of the program.
#pragma once

#include "backends/dtu/isa/Isa.h"

#include <optional>

namespace st::dtu {

/// One dimension of an access: its extent and the bytes between its elements.
struct RangeDim {
  const Extent *extent;
  int64_t stride;
};

/// Bytes low .. high-1.
struct ByteRange {
  int64_t low, high;
};

class RegisterRanges {
public:
  explicit RegisterRanges(int64_t instances) {
    known[kZero] = {{0, 0, 1}};
    if (instances >= 1)
      known[kInstance] = {{0, instances - 1, 1}};
  }

  /// Adds the counter's values; returns false unless the loop is known to run.
  bool enterLoop(const Loop &loop);
  void forget(uint8_t reg) { known[reg].reset(); }

  /// The bytes that an access touches over all values of the registers; std::nullopt if they are
  /// not known exactly or the access is empty.
  std::optional<ByteRange> access(const Affine &offset, const std::vector<RangeDim> &dims,
                                  unsigned width) const;

private:
  /// first, first + step, ..., last.
  struct Progression {
    int64_t first, last, step;
  };
  std::array<std::optional<Progression>, kNumRegisters> known;

  struct Extremes;
  bool addRegister(uint8_t reg, const Affine &offset, const std::vector<RangeDim> &dims,
                   Extremes &extremes) const;
};

} // namespace st::dtu

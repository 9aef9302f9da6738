// What an instruction of a DTU takes when nothing is in its way. The simulator
// adds waiting on top; the tiler and the planner compare candidates with the
// same figures. docs/dtu-isa.md derives each rule. Times are picoseconds.
#pragma once

#include "lib/Proto/device.pb.h"

#include <cstdint>

namespace st {

using Picoseconds = int64_t;

class DtuCosts {
public:
  /// `description` must have passed checkDtuDescription.
  explicit DtuCosts(const proto::DtuDescription &description);

  /// The matrix engine is an array of arrayRows x arrayCols multipliers that takes one step of k
  /// (four, for 16-bit types on T10) a cycle; ragged tiles are rounded up to it.
  Picoseconds matmul(int64_t m, int64_t n, int64_t k, bool is16Bit) const;

  /// A tile op on rows x cols elements of `elementBytes` each: whole vectors along the better of
  /// the two dimensions.
  Picoseconds vector(int64_t rows, int64_t cols, int64_t elementBytes, bool transcendental) const;

  /// Bytes through one memory or port at its full rate.
  Picoseconds l1Bytes(int64_t bytes) const { return scale(bytes, l1PerByte); }
  Picoseconds l2Bytes(int64_t bytes) const { return scale(bytes, l2PerByte); }
  Picoseconds l3Bytes(int64_t bytes) const { return scale(bytes, l3PerByte); }
  Picoseconds dteBytes(int64_t bytes) const { return scale(bytes, dtePerByte); }
  double l3PicosecondsPerByte() const { return l3PerByte; }
  /// One way between a chip and its host. Without a link to the host: nothing.
  Picoseconds hostBytes(int64_t bytes) const { return scale(bytes, hostPerByte); }

  Picoseconds dteLatency = 0, hostLatency = 0, sync = 0, taskLaunch = 0;
  int64_t arrayRows = 0, arrayCols = 0;
  int64_t stepsPerCycle32 = 1, stepsPerCycle16 = 1; ///< of k
  double cycle = 0;                                 ///< picoseconds

  static Picoseconds scale(int64_t amount, double perUnit);

private:
  double l1PerByte, l2PerByte, l3PerByte, dtePerByte, hostPerByte = 0;
  double matrixStart, vectorStart, transcendentalCycles;
  int64_t vectorBytes;
};

} // namespace st

// The time of a DTU instruction without contention. The simulator adds waits; the tiler and the
// planner compare candidates with the same figures. docs/dtu-isa.md derives each rule. Times are
// picoseconds.
#pragma once

#include "lib/Proto/device.pb.h"

#include "absl/types/span.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

namespace st {

using Picoseconds = int64_t;

/// The placement of a vector instruction's operands in the banks of L1: the step of the worst
/// operand along rows and along columns.
class BankSteps {
public:
  /// An operand with these strides in bytes.
  void add(int64_t rowStride, int64_t colStride) {
    alongRows = std::max(alongRows, stepOf(rowStride));
    alongCols = std::max(alongCols, stepOf(colStride));
  }
  /// Dense tiles with consecutive rows.
  static BankSteps ofDense(int64_t cols, int64_t elementBytes) {
    BankSteps steps;
    steps.add(cols * elementBytes, elementBytes);
    return steps;
  }

  int64_t alongRows = 0, alongCols = 0;

private:
  /// The step of elements that share words is their stride. Other elements spread over the banks,
  /// except for the power of two in their stride.
  static int64_t stepOf(int64_t stride) {
    stride = std::abs(stride);
    return stride <= kBankBytes ? stride : std::max(kBankBytes, stride & -stride);
  }
  static constexpr int64_t kBankBytes = 4;
};

/// One dimension of a transfer's access to a memory: a number of positions and the bytes between
/// them.
struct AccessDim {
  int64_t size = 1, stride = 0;
};

/// Divides by shifting if the divisor is a power of two, as sizes in hardware usually are.
class Divisor {
public:
  explicit Divisor(int64_t value = 1)
      : divisor(value),
        shift((value & (value - 1)) == 0 ? __builtin_ctzll(static_cast<uint64_t>(value)) : -1) {}
  int64_t value() const { return divisor; }
  /// Rounded up, for amounts that are not negative.
  int64_t partsOf(int64_t amount) const {
    amount += divisor - 1;
    return shift >= 0 ? amount >> shift : amount / divisor;
  }

private:
  int64_t divisor;
  int shift; ///< -1 if no shift divides
};

class DtuCosts {
public:
  /// `description` must have passed checkDtuDescription.
  explicit DtuCosts(const proto::DtuDescription &description);

  /// The matrix engine is an array of arrayRows x arrayCols multipliers that takes one step of k
  /// (four, for 16-bit types on T10) a cycle; ragged tiles are rounded up to it.
  Picoseconds matmul(int64_t m, int64_t n, int64_t k, bool is16Bit) const;

  /// A tile op on rows x cols elements of `elementBytes` each, in full vectors along the better of
  /// the two dimensions. A vector takes a cycle for each element in the fullest bank.
  Picoseconds vector(int64_t rows, int64_t cols, int64_t elementBytes, bool transcendental,
                     const BankSteps &steps) const;

  /// Bytes that a transfer occupies L3 for: whole bursts, which rows closer than a burst share.
  /// `dims`: from the smallest stride to the largest; addresses do not matter.
  int64_t burstBytes(int64_t elementBytes, absl::Span<const AccessDim> dims) const;

  /// Bytes through one memory or port at its full rate.
  Picoseconds l1Bytes(int64_t bytes) const { return scale(bytes, l1PerByte); }
  Picoseconds l2Bytes(int64_t bytes) const { return scale(bytes, l2PerByte); }
  Picoseconds l3Bytes(int64_t bytes) const { return scale(bytes, l3PerByte); }
  Picoseconds dteBytes(int64_t bytes) const { return scale(bytes, dtePerByte); }
  double l3PicosecondsPerByte() const { return l3PerByte; }
  /// One direction between a chip and its host. 0 without a link to the host.
  Picoseconds hostBytes(int64_t bytes) const { return scale(bytes, hostPerByte); }

  Picoseconds dteLatency = 0, hostLatency = 0, sync = 0, taskLaunch = 0;
  int64_t arrayRows = 0, arrayCols = 0;
  int64_t stepsPerCycle32 = 1, stepsPerCycle16 = 1; ///< of k
  double cycle = 0;                                 ///< picoseconds

  static Picoseconds scale(int64_t amount, double perUnit) {
    return roundUp(static_cast<double>(amount) * perUnit);
  }

private:
  /// std::ceil calls the C library where the host may lack SSE 4.1.
  static Picoseconds roundUp(double value) {
    const auto truncated = static_cast<Picoseconds>(value);
    return truncated + (static_cast<double>(truncated) < value);
  }
  double l1PerByte, l2PerByte, l3PerByte, dtePerByte, hostPerByte = 0;
  double matrixStart, vectorStart, transcendentalCycles;
  int64_t burst;
  Divisor vectorBytes, bankedBytes;
  std::array<int64_t, 9> vectorElements; ///< elements in a vector, by their bytes

  int64_t elementsInVector(int64_t elementBytes) const;
  double vectorCycles(int64_t lines, int64_t length, int64_t elementBytes, double perVector,
                      int64_t step) const;
};

} // namespace st

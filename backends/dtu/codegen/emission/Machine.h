// The machine model of the code generator.
#pragma once

#include "lib/Proto/device.pb.h"
#include "lib/Timing/DtuCosts.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace mlir::dtu {

/// One cluster. Rates are in bytes per nanosecond, times in nanoseconds.
struct Machine {
  explicit Machine(const ::st::proto::DtuDescription &description);

  ::st::DtuCosts costs; ///< of instructions
  int64_t cores = 0, dteQueues = 0;
  int64_t l1Bytes = 0, l2Bytes = 0;
  int64_t workers = 0; ///< cores that have their own DTE queue
  double l3Rate = 0, l2Rate = 0, dteRate = 0;
  double dteLatency = 0, syncTime = 0;

  /// The time of a tile product on a core's matrix engine.
  double matmulTime(int64_t rows, int64_t cols, int64_t depth, bool is16Bit) const {
    return toNanoseconds(costs.matmul(rows, cols, depth, is16Bit));
  }
  /// The time of a vector instruction on a tile of contiguous rows.
  double vectorTime(int64_t rows, int64_t cols, int64_t elementBytes, bool transcendental) const {
    return toNanoseconds(costs.vector(rows, cols, elementBytes, transcendental,
                                      ::st::BankSteps::ofDense(cols, elementBytes)));
  }

  /// Bytes of the L3 bursts that these dimensions of a tensor occupy, in any order.
  int64_t burstBytes(int64_t elementBytes, llvm::SmallVector<::st::AccessDim, 4> dims) const;

private:
  static double toNanoseconds(::st::Picoseconds time) { return static_cast<double>(time) / 1000; }
};

} // namespace mlir::dtu

// What the code generator knows of the machine it generates for.
#pragma once

#include "lib/Proto/device.pb.h"

#include <cstdint>

namespace mlir::dtu {

/// One cluster. Rates in bytes or operations per nanosecond.
struct Machine {
  int64_t cores = 0, dteQueues = 0;
  int64_t l1Bytes = 0, l2Bytes = 0;
  int64_t workers = 0; ///< cores that have a DTE queue of their own
  double clock = 0;    ///< cycles a nanosecond
  double l3Rate = 0, l2Rate = 0, l1Rate = 0, dteRate = 0;
  double dteLatency = 0, syncTime = 0;
  double macs32 = 0, macs16 = 0; ///< a core and cycle
  double matrixStart = 0;        ///< cycles

  static Machine of(const ::st::proto::DtuDescription &description);
};

} // namespace mlir::dtu

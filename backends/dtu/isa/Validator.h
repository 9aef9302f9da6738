// What a program must satisfy before it may run. Everything that can be decided
// without running is decided here; addresses that depend on the rank table, the
// micro-batch or derived registers are checked by the simulator as they occur.
#pragma once

#include "backends/dtu/isa/Isa.h"
#include "lib/Proto/device.pb.h"

#include "absl/status/status.h"

#include <cstdint>
#include <string>

namespace st::dtu {

/// What one cluster has.
struct MachineLimits {
  int64_t cores = 0, dteQueues = 0;
  int64_t l1Bytes = 0, l2Bytes = 0;
  int64_t l3Bytes = 0;   ///< the cluster's share of the chip's memory
  int64_t hostBytes = 0; ///< its share of the host's memory; 0 without a link to it
};
MachineLimits machineLimits(const proto::DtuDescription &description);

/// Bytes of a host whose memory the description does not limit.
constexpr int64_t kNoHostLimit = int64_t(1) << 60;
constexpr int64_t kMaxSemaphores = 1 << 16, kMaxBarriers = 1 << 12, kMaxTableSize = 1 << 20;
/// Bounds that keep every product of an extent and a stride within 128 bits and
/// every sane program far inside them.
constexpr int64_t kMaxExtent = int64_t(1) << 31, kMaxStride = int64_t(1) << 44;

/// Sizes against the machine, registers, loop nesting, which engine may run what, types, shapes,
/// alignment of strides, semaphores and barriers, and every address whose range is known exactly.
/// Errors name program, stream and instruction: "program 'forward', stream 2 (dte), instruction 17
/// (copy ...): ...".
absl::Status validate(const Program &program, const MachineLimits &limits);

/// The place of an instruction, as errors and faults name it.
std::string describePlace(const Program &program, size_t stream, size_t instruction);

} // namespace st::dtu

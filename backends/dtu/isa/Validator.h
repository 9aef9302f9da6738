// Requirements on a program before it may run. Everything that is decidable without running is
// checked here. The simulator checks addresses that depend on the rank table, the micro-batch or
// derived registers as they occur.
#pragma once

#include "backends/dtu/isa/Isa.h"
#include "lib/Proto/device.pb.h"

#include "absl/status/status.h"

#include <cstdint>
#include <string>

namespace st::dtu {

/// The resources of one cluster.
struct MachineLimits {
  int64_t cores = 0, dteQueues = 0;
  int64_t l1Bytes = 0, l2Bytes = 0;
  int64_t l3Bytes = 0;   ///< the cluster's share of the chip's memory
  int64_t hostBytes = 0; ///< its share of the host's memory; 0 without a host link
};
MachineLimits machineLimits(const proto::DtuDescription &description);

/// Represents host memory that the description does not limit.
constexpr int64_t kNoHostLimit = int64_t(1) << 60;
constexpr int64_t kMaxSemaphores = 1 << 16, kMaxBarriers = 1 << 12, kMaxTableSize = 1 << 20;
/// Limits that keep every product of an extent and a stride within 128 bits; real programs stay far
/// below them.
constexpr int64_t kMaxExtent = int64_t(1) << 31, kMaxStride = int64_t(1) << 44;

/// Checks sizes against the machine, registers, loop nesting, the engine of each instruction,
/// types, shapes, alignment of strides, semaphores and barriers, and every address whose range is
/// known exactly. Errors name program, stream and instruction: "program 'forward', stream 2 (dte),
/// instruction 17 (copy ...): ...".
absl::Status validate(const Program &program, const MachineLimits &limits);

/// The location of an instruction, as errors and faults name it.
std::string describePlace(const Program &program, size_t stream, size_t instruction);

} // namespace st::dtu

// The registers that instructions read and write, and where their values are live.
#pragma once

#include "backends/dtu/isa/Isa.h"

#include <bitset>
#include <vector>

namespace st::dtu {

using RegisterSet = std::bitset<kNumRegisters>;

/// The registers that an instruction reads. Registers that name peers of messages are included only
/// if `peers` is true. The end of a loop reads none itself; its reads belong to the loop.
RegisterSet registersRead(const Instruction &instruction, bool peers);

/// The register that an instruction sets, or kZero; for a loop, its counter.
uint8_t registerSet(const Instruction &instruction);

/// Properties of a valid stream at each of its instructions and after the last one.
struct StreamRegisters {
  /// `peers`: registers that name the peers of messages count as read.
  StreamRegisters(const Stream &stream, bool peers);

  /// Registers whose values may still affect an instruction. Computing a dead register does not
  /// count.
  std::vector<RegisterSet> live;
  std::vector<uint8_t> depth; ///< number of open loops
};

} // namespace st::dtu

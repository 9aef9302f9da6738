// Which registers instructions read and write, and where their values still count.
#pragma once

#include "backends/dtu/isa/Isa.h"

#include <bitset>
#include <vector>

namespace st::dtu {

using RegisterSet = std::bitset<kNumRegisters>;

/// The registers that an instruction reads; those that name the peers of messages only if asked
/// for. The end of a loop reads none of its own: what it does is the loop's.
RegisterSet registersRead(const Instruction &instruction, bool peers);

/// The register that an instruction sets, or kZero: of a loop its counter.
uint8_t registerSet(const Instruction &instruction);

/// What holds of a valid stream at each of its instructions and behind the last one.
struct StreamRegisters {
  /// `peers`: registers that name peers of messages count.
  StreamRegisters(const Stream &stream, bool peers);

  /// Registers whose values may still say what an instruction does, other than by computing such
  /// that do not.
  std::vector<RegisterSet> live;
  std::vector<uint8_t> depth; ///< loops that are open
};

} // namespace st::dtu

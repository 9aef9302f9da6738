// The change of registers per period (isa/order/RegisterChange.h), for decoded programs.
#pragma once

#include "backends/dtu/isa/order/RegisterChange.h"
#include "backends/dtu/simulator/time/TimeDecisions.h"
#include "backends/dtu/simulator/time/TimeState.h"

namespace st::dtu {

/// Properties of a stream at each of its slots and after the last one.
struct StreamFacts {
  StreamFacts(const DecodedProgram &program, const DecodedStream &stream);

  std::vector<RegisterSet> live; ///< registers that a later decision reads
  std::vector<uint8_t> depth;    ///< number of open loops
};

/// The change of the registers from `before` to `after`.
inline RegisterChange operator-(const StreamPosition &after, const StreamPosition &before) {
  return {before.registers, before.limits, after.registers, after.limits};
}

/// Call before the instance runs its next slot. Updates `bound` and `change` with everything in the
/// slot that decides its duration or what runs next.
void visitSlot(const DecodedProgram &program, const StreamFacts &facts,
               const TimeInstance &instance, const std::vector<int64_t> &table, ChangeBound &bound,
               RegisterChange &change);

} // namespace st::dtu

// Drift of registers (isa/RegisterDrift.h) in decoded programs.
#pragma once

#include "backends/dtu/isa/order/RegisterDrift.h"
#include "backends/dtu/simulator/time/TimeDecisions.h"
#include "backends/dtu/simulator/time/TimeState.h"

namespace st::dtu {

/// Facts of a stream that hold at each of its slots and behind the last one.
struct StreamFacts {
  StreamFacts(const DecodedProgram &program, const DecodedStream &stream);

  std::vector<RegisterSet> live; ///< registers that decide something later on
  std::vector<uint8_t> depth;    ///< loops that are open
};

/// What the registers gained on the way from `before` to `after`.
inline RegisterDrift operator-(const StreamPosition &after, const StreamPosition &before) {
  return {before.registers, before.limits, after.registers, after.limits};
}

/// To be called before the instance runs the slot at which it stands: of what decides how long it
/// takes or what runs next, `bound` and `drift` are told.
void visitSlot(const DecodedProgram &program, const StreamFacts &facts,
               const TimeInstance &instance, const std::vector<int64_t> &table, DriftBound &bound,
               RegisterDrift &drift);

} // namespace st::dtu

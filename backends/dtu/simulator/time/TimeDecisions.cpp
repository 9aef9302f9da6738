#include "backends/dtu/simulator/time/TimeDecisions.h"

#include "backends/dtu/simulator/ControlFlow.h"

namespace st::dtu {
namespace {

/// Walks a stream backwards until no loop needs more registers from its next trip.
class Liveness {
public:
  Liveness(const DecodedProgram &program, const DecodedStream &stream, bool withPeers)
      : program(program), stream(stream), withPeers(withPeers), live(stream.slots.size() + 1) {}

  std::vector<RegisterSet> run() {
    while (walk()) {
    }
    return std::move(live);
  }

private:
  bool walk();
  RegisterSet before(size_t at, const RegisterSet &after) const;
  RegisterSet beforeControl(size_t at, const RegisterSet &after) const;

  const DecodedProgram &program;
  const DecodedStream &stream;
  const bool withPeers;
  std::vector<RegisterSet> live;
};

RegisterSet Liveness::beforeControl(size_t at, const RegisterSet &after) const {
  const Slot slot = stream.slots[at];
  RegisterSet set = after;
  switch (slot.opcode) {
  case Opcode::Loop: {
    const LoopInst &loop = program.loops[slot.index];
    set |= live[loop.end + 1];
    set.reset(loop.reg);
    addRegisters(set, loop.start);
    addRegisters(set, loop.limit);
    break;
  }
  case Opcode::EndLoop:
    set |= live[program.loops[slot.index].begin + 1];
    set.set(program.loops[slot.index].reg);
    break;
  case Opcode::Leave: {
    const LeaveInst &leave = program.leaves[slot.index];
    set |= live[program.loops[leave.loop].end + 1];
    set.set(leave.unless);
    break;
  }
  case Opcode::Index:
    if (after.test(program.indices[slot.index].dst)) {
      set.reset(program.indices[slot.index].dst);
      addRegisters(set, program.indices[slot.index].value);
    }
    break;
  default:
    if (after.test(program.tables[slot.index].dst)) {
      set.reset(program.tables[slot.index].dst);
      addRegisters(set, program.tables[slot.index].index);
    }
    break;
  }
  return set;
}

RegisterSet Liveness::before(size_t at, const RegisterSet &after) const {
  const Slot slot = stream.slots[at];
  RegisterSet set = after;
  if (slot.opcode == Opcode::Load)
    set.reset(program.loads[slot.index].dst);
  if (withPeers && (slot.opcode == Opcode::Send || slot.opcode == Opcode::Recv))
    set.set(program.links[slot.index].peer);
  visitDecisions(
      program, slot, [&](const FlatExtent &extent) { set.set(extent.reg); },
      [&](const FlatAffine &affine) { addRegisters(set, affine); });
  return set;
}

bool Liveness::walk() {
  bool grew = false;
  for (size_t at = stream.slots.size(); at-- > 0;) {
    RegisterSet set = isControl(stream.slots[at].opcode) ? beforeControl(at, live[at + 1])
                                                         : before(at, live[at + 1]);
    grew |= set != live[at];
    live[at] = set;
  }
  return grew;
}

} // namespace

std::vector<RegisterSet> liveRegisters(const DecodedProgram &program, const DecodedStream &stream,
                                       bool withPeers) {
  return Liveness(program, stream, withPeers).run();
}

} // namespace st::dtu

#include "backends/dtu/simulator/time/LoopChange.h"

namespace st::dtu {

StreamFacts::StreamFacts(const DecodedProgram &program, const DecodedStream &stream)
    : live(liveRegisters(program, stream, /*withPeers=*/true)) {
  uint8_t open = 0;
  for (Slot slot : stream.slots) {
    depth.push_back(open);
    if (slot.opcode == Opcode::Loop)
      ++open;
    else if (slot.opcode == Opcode::EndLoop)
      --open;
  }
  depth.push_back(open);
}

namespace {

ChangeBound::Value evaluate(const FlatAffine &affine, const int64_t *registers,
                            const RegisterChange &change) {
  auto eachTerm = [&](auto &&visit) {
    for (uint32_t i = 0; i < affine.count; ++i)
      visit(affine.regs[i], affine.coefficients[i]);
  };
  return ChangeBound::evaluate(affine(registers), eachTerm, change);
}

} // namespace

void visitSlot(const DecodedProgram &program, const StreamFacts &facts,
               const TimeInstance &instance, const std::vector<int64_t> &table, ChangeBound &bound,
               RegisterChange &change) {
  const uint32_t pc = instance.position.pc;
  const Slot slot = instance.stream->slots[pc];
  const int64_t *registers = instance.position.registers;
  switch (slot.opcode) {
  case Opcode::Loop: {
    const LoopInst &loop = program.loops[slot.index];
    bound.visitLoop(loop.reg, loop.depth, evaluate(loop.start, registers, change),
                    evaluate(loop.limit, registers, change), change);
    break;
  }
  case Opcode::EndLoop: {
    const LoopInst &loop = program.loops[slot.index];
    bound.visitEndLoop(loop.reg, loop.depth, loop.step, registers, instance.position.limits,
                       change);
    break;
  }
  case Opcode::Leave:
    bound.visitLeave(program.leaves[slot.index].unless, change);
    break;
  // Registers that affect no decision may take any value.
  case Opcode::Index:
    if (const IndexInst &inst = program.indices[slot.index]; facts.live[pc + 1].test(inst.dst))
      bound.visitIndex(inst.dst, evaluate(inst.value, registers, change), inst.divide, inst.modulo,
                       inst.multiply, change);
    break;
  case Opcode::Table:
    if (const TableInst &inst = program.tables[slot.index]; facts.live[pc + 1].test(inst.dst))
      bound.visitTable(inst.dst, evaluate(inst.index, registers, change), change);
    break;
  default:
    visitDecisions(
        program, slot,
        [&](const FlatExtent &extent) {
          bound.keepExtent(extent.tile, extent.reg, extent.limit, registers, change);
        },
        [&](const FlatAffine &affine) { bound.keepEqual(evaluate(affine, registers, change)); });
    break;
  }
}

} // namespace st::dtu

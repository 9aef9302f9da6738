#include "backends/dtu/simulator/LoopDrift.h"

#include <algorithm>

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

RegisterSet RegisterDrift::differsFrom(const RegisterDrift &other) const {
  RegisterSet result = unknown | other.unknown;
  for (size_t reg = 0; reg < kNumRegisters; ++reg)
    if (registers[reg] != other.registers[reg])
      result.set(reg);
  return result;
}

bool RegisterDrift::hasLimitsOf(const RegisterDrift &other, size_t depth) const {
  for (size_t i = 0; i < depth; ++i)
    if (unknownLimits.test(i) || other.unknownLimits.test(i) || limits[i] != other.limits[i])
      return false;
  return true;
}

RegisterDrift operator-(const StreamPosition &after, const StreamPosition &before) {
  auto gain = [](int64_t to, int64_t from) {
    return static_cast<int64_t>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
  };
  RegisterDrift result;
  for (size_t reg = 0; reg < kNumRegisters; ++reg)
    result.registers[reg] = gain(after.registers[reg], before.registers[reg]);
  for (size_t depth = 0; depth < kMaxLoopDepth; ++depth)
    result.limits[depth] = gain(after.limits[depth], before.limits[depth]);
  return result;
}

DriftBound::Value DriftBound::evaluate(const FlatAffine &affine, const int64_t *registers,
                                       const RegisterDrift &drift) {
  Value result = {affine(registers), 0, true};
  for (uint32_t i = 0; i < affine.count; ++i) {
    int64_t term;
    result.isKnown &=
        !drift.unknown.test(affine.regs[i]) &&
        !__builtin_mul_overflow(affine.coefficients[i], drift.registers[affine.regs[i]], &term) &&
        !__builtin_add_overflow(result.drift, term, &result.drift);
    if (!result.isKnown)
      break;
  }
  return result;
}

void DriftBound::keepSign(__int128 value, __int128 drift) {
  if (value > 0 && drift < 0)
    bound = static_cast<int64_t>(std::min<__int128>(bound, (value - 1) / -drift));
  else if (value <= 0 && drift > 0)
    bound = static_cast<int64_t>(std::min<__int128>(bound, -value / drift));
}

void DriftBound::keepExtent(const FlatExtent &extent, const int64_t *registers,
                            const RegisterDrift &drift) {
  if (extent.reg == kZero)
    return;
  const int64_t gain = drift.registers[extent.reg];
  if (drift.unknown.test(extent.reg)) {
    bound = 0;
    return;
  }
  const __int128 left = static_cast<__int128>(extent.limit) - registers[extent.reg];
  if (left >= extent.tile)
    keepSign(left - extent.tile + 1, -static_cast<__int128>(gain));
  else if (left <= 0)
    keepSign(left, -static_cast<__int128>(gain));
  else if (gain != 0)
    bound = 0;
}

void DriftBound::keepEqual(const Value &value) {
  if (!value.isKnown || value.drift != 0)
    bound = 0;
}

void DriftBound::visitLoop(const LoopInst &loop, const int64_t *registers, RegisterDrift &drift) {
  const Value start = evaluate(loop.start, registers, drift);
  const Value limit = evaluate(loop.limit, registers, drift);
  if (!start.isKnown || !limit.isKnown)
    bound = 0;
  else
    keepSign(static_cast<__int128>(limit.value) - start.value,
             static_cast<__int128>(limit.drift) - start.drift);
  drift.registers[loop.reg] = start.drift;
  drift.unknown.set(loop.reg, !start.isKnown);
  drift.limits[loop.depth] = limit.drift;
  drift.unknownLimits.set(loop.depth, !limit.isKnown);
}

void DriftBound::visitIndex(const IndexInst &inst, const int64_t *registers, RegisterDrift &drift) {
  const Value value = evaluate(inst.value, registers, drift);
  int64_t gain = 0;
  bool isKnown = value.isKnown;
  if (!isKnown) {
    bound = 0;
  } else if (value.drift % inst.divide != 0) {
    // The quotient stays as long as the remainder does not leave its range.
    const int64_t left = value.value % inst.divide;
    const __int128 drift = value.drift;
    keepSign(drift > 0 ? inst.divide - left : left + 1, drift > 0 ? -drift : drift);
  } else if (const int64_t steps = value.drift / inst.divide;
             inst.modulo == 0 || steps % inst.modulo != 0) {
    isKnown =
        steps == 0 || (inst.modulo == 0 && !__builtin_mul_overflow(steps, inst.multiply, &gain));
  }
  // A negative value is a fault.
  keepSign(static_cast<__int128>(value.value) + 1, value.drift);
  drift.registers[inst.dst] = gain;
  drift.unknown.set(inst.dst, !isKnown);
}

void DriftBound::visit(const DecodedProgram &program, const StreamFacts &facts,
                       const TimeInstance &instance, RegisterDrift &drift,
                       const std::vector<int64_t> &table) {
  const uint32_t pc = instance.position.pc;
  const Slot slot = instance.stream->slots[pc];
  const int64_t *registers = instance.position.registers;
  switch (slot.opcode) {
  case Opcode::Loop:
    visitLoop(program.loops[slot.index], registers, drift);
    break;
  case Opcode::EndLoop: {
    const LoopInst &loop = program.loops[slot.index];
    if (drift.unknown.test(loop.reg) || drift.unknownLimits.test(loop.depth))
      bound = 0;
    else
      keepSign(static_cast<__int128>(instance.position.limits[loop.depth]) - registers[loop.reg] -
                   loop.step,
               static_cast<__int128>(drift.limits[loop.depth]) - drift.registers[loop.reg]);
    break;
  }
  case Opcode::Leave: {
    const uint8_t unless = program.leaves[slot.index].unless;
    keepEqual({0, drift.registers[unless], !drift.unknown.test(unless)});
    break;
  }
  // What decides nothing may take any value.
  case Opcode::Index:
    if (facts.live[pc + 1].test(program.indices[slot.index].dst))
      visitIndex(program.indices[slot.index], registers, drift);
    break;
  case Opcode::Table:
    if (const TableInst &inst = program.tables[slot.index]; facts.live[pc + 1].test(inst.dst)) {
      const Value index = evaluate(inst.index, registers, drift);
      keepEqual(index);
      drift.registers[inst.dst] = 0;
      drift.unknown.reset(inst.dst);
    }
    break;
  default:
    visitDecisions(
        program, slot, [&](const FlatExtent &extent) { keepExtent(extent, registers, drift); },
        [&](const FlatAffine &affine) { keepEqual(evaluate(affine, registers, drift)); });
    break;
  }
}

} // namespace st::dtu

#include "backends/dtu/isa/order/RegisterDrift.h"

#include <algorithm>

namespace st::dtu {

RegisterDrift::RegisterDrift(const int64_t *registersBefore, const int64_t *limitsBefore,
                             const int64_t *registersAfter, const int64_t *limitsAfter) {
  auto gain = [](int64_t to, int64_t from) {
    return static_cast<int64_t>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
  };
  for (size_t reg = 0; reg < kNumRegisters; ++reg)
    registers[reg] = gain(registersAfter[reg], registersBefore[reg]);
  for (size_t depth = 0; depth < kMaxLoopDepth; ++depth)
    limits[depth] = gain(limitsAfter[depth], limitsBefore[depth]);
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

void DriftBound::keepSign(__int128 value, __int128 drift) {
  if (value > 0 && drift < 0)
    bound = static_cast<int64_t>(std::min<__int128>(bound, (value - 1) / -drift));
  else if (value <= 0 && drift > 0)
    bound = static_cast<int64_t>(std::min<__int128>(bound, -value / drift));
}

void DriftBound::keepExtent(int64_t tile, uint8_t reg, int64_t limit, const int64_t *registers,
                            const RegisterDrift &drift) {
  if (reg == kZero)
    return;
  const int64_t gain = drift.registers[reg];
  if (drift.unknown.test(reg)) {
    bound = 0;
    return;
  }
  const __int128 left = static_cast<__int128>(limit) - registers[reg];
  if (left >= tile)
    keepSign(left - tile + 1, -static_cast<__int128>(gain));
  else if (left <= 0)
    keepSign(left, -static_cast<__int128>(gain));
  else if (gain != 0)
    bound = 0;
}

void DriftBound::keepEqual(const Value &value) {
  if (!value.isKnown || value.drift != 0)
    bound = 0;
}

void DriftBound::visitLoop(uint8_t reg, size_t depth, const Value &start, const Value &limit,
                           RegisterDrift &drift) {
  if (!start.isKnown || !limit.isKnown)
    bound = 0;
  else
    keepSign(static_cast<__int128>(limit.value) - start.value,
             static_cast<__int128>(limit.drift) - start.drift);
  drift.registers[reg] = start.drift;
  drift.unknown.set(reg, !start.isKnown);
  drift.limits[depth] = limit.drift;
  drift.unknownLimits.set(depth, !limit.isKnown);
}

void DriftBound::visitEndLoop(uint8_t reg, size_t depth, int64_t step, const int64_t *registers,
                              const int64_t *limits, const RegisterDrift &drift) {
  if (drift.unknown.test(reg) || drift.unknownLimits.test(depth))
    bound = 0;
  else
    keepSign(static_cast<__int128>(limits[depth]) - registers[reg] - step,
             static_cast<__int128>(drift.limits[depth]) - drift.registers[reg]);
}

void DriftBound::visitLeave(uint8_t unless, const RegisterDrift &drift) {
  keepEqual({0, drift.registers[unless], !drift.unknown.test(unless)});
}

void DriftBound::visitIndex(uint8_t dst, const Value &value, int64_t divide, int64_t modulo,
                            int64_t multiply, RegisterDrift &drift) {
  int64_t gain = 0;
  bool isKnown = value.isKnown;
  if (!isKnown) {
    bound = 0;
  } else if (value.drift % divide != 0) {
    // The quotient stays as long as the remainder does not leave its range.
    const int64_t left = value.value % divide;
    const __int128 drift = value.drift;
    keepSign(drift > 0 ? divide - left : left + 1, drift > 0 ? -drift : drift);
  } else if (const int64_t steps = value.drift / divide; modulo == 0 || steps % modulo != 0) {
    isKnown = steps == 0 || (modulo == 0 && !__builtin_mul_overflow(steps, multiply, &gain));
  }
  // A negative value is a fault.
  keepSign(static_cast<__int128>(value.value) + 1, value.drift);
  drift.registers[dst] = gain;
  drift.unknown.set(dst, !isKnown);
}

void DriftBound::visitTable(uint8_t dst, const Value &index, RegisterDrift &drift) {
  keepEqual(index);
  drift.registers[dst] = 0;
  drift.unknown.reset(dst);
}

} // namespace st::dtu

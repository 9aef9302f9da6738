#include "backends/dtu/isa/order/RegisterChange.h"

#include <algorithm>

namespace st::dtu {

RegisterChange::RegisterChange(const int64_t *registersBefore, const int64_t *limitsBefore,
                               const int64_t *registersAfter, const int64_t *limitsAfter) {
  auto gain = [](int64_t to, int64_t from) {
    return static_cast<int64_t>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
  };
  for (size_t reg = 0; reg < kNumRegisters; ++reg)
    registers[reg] = gain(registersAfter[reg], registersBefore[reg]);
  for (size_t depth = 0; depth < kMaxLoopDepth; ++depth)
    limits[depth] = gain(limitsAfter[depth], limitsBefore[depth]);
}

RegisterSet RegisterChange::differsFrom(const RegisterChange &other) const {
  RegisterSet result = unknown | other.unknown;
  for (size_t reg = 0; reg < kNumRegisters; ++reg)
    if (registers[reg] != other.registers[reg])
      result.set(reg);
  return result;
}

bool RegisterChange::hasLimitsOf(const RegisterChange &other, size_t depth) const {
  for (size_t i = 0; i < depth; ++i)
    if (unknownLimits.test(i) || other.unknownLimits.test(i) || limits[i] != other.limits[i])
      return false;
  return true;
}

void ChangeBound::keepSign(__int128 value, __int128 change) {
  if (value > 0 && change < 0)
    bound = static_cast<int64_t>(std::min<__int128>(bound, (value - 1) / -change));
  else if (value <= 0 && change > 0)
    bound = static_cast<int64_t>(std::min<__int128>(bound, -value / change));
}

void ChangeBound::keepExtent(int64_t tile, uint8_t reg, int64_t limit, const int64_t *registers,
                             const RegisterChange &change) {
  if (reg == kZero)
    return;
  const int64_t gain = change.registers[reg];
  if (change.unknown.test(reg)) {
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

void ChangeBound::keepEqual(const Value &value) {
  if (!value.isKnown || value.change != 0)
    bound = 0;
}

void ChangeBound::visitLoop(uint8_t reg, size_t depth, const Value &start, const Value &limit,
                            RegisterChange &change) {
  if (!start.isKnown || !limit.isKnown)
    bound = 0;
  else
    keepSign(static_cast<__int128>(limit.value) - start.value,
             static_cast<__int128>(limit.change) - start.change);
  change.registers[reg] = start.change;
  change.unknown.set(reg, !start.isKnown);
  change.limits[depth] = limit.change;
  change.unknownLimits.set(depth, !limit.isKnown);
}

void ChangeBound::visitEndLoop(uint8_t reg, size_t depth, int64_t step, const int64_t *registers,
                               const int64_t *limits, const RegisterChange &change) {
  if (change.unknown.test(reg) || change.unknownLimits.test(depth))
    bound = 0;
  else
    keepSign(static_cast<__int128>(limits[depth]) - registers[reg] - step,
             static_cast<__int128>(change.limits[depth]) - change.registers[reg]);
}

void ChangeBound::visitLeave(uint8_t unless, const RegisterChange &change) {
  keepEqual({0, change.registers[unless], !change.unknown.test(unless)});
}

void ChangeBound::visitIndex(uint8_t dst, const Value &value, int64_t divide, int64_t modulo,
                             int64_t multiply, RegisterChange &change) {
  int64_t gain = 0;
  bool isKnown = value.isKnown;
  if (!isKnown) {
    bound = 0;
  } else if (value.change % divide != 0) {
    // The quotient is unchanged while the remainder stays in its range.
    const int64_t left = value.value % divide;
    const __int128 change = value.change;
    keepSign(change > 0 ? divide - left : left + 1, change > 0 ? -change : change);
  } else if (const int64_t steps = value.change / divide; modulo == 0 || steps % modulo != 0) {
    isKnown = steps == 0 || (modulo == 0 && !__builtin_mul_overflow(steps, multiply, &gain));
  }
  // A negative value is a fault.
  keepSign(static_cast<__int128>(value.value) + 1, value.change);
  change.registers[dst] = gain;
  change.unknown.set(dst, !isKnown);
}

void ChangeBound::visitTable(uint8_t dst, const Value &index, RegisterChange &change) {
  keepEqual(index);
  change.registers[dst] = 0;
  change.unknown.reset(dst);
}

} // namespace st::dtu

// The change of registers from one repetition of a periodic loop to the next, and the
// number of repetitions for which all decisions that depend on them stay the same.
#pragma once

#include "backends/dtu/isa/Registers.h"

#include <array>

namespace st::dtu {

/// The change of each register from one repetition to the next at the same place, where known.
struct RegisterChange {
  std::array<int64_t, kNumRegisters> registers = {};
  std::array<int64_t, kMaxLoopDepth> limits = {};
  RegisterSet unknown;
  std::bitset<kMaxLoopDepth> unknownLimits;

  RegisterChange() = default;
  /// The change of registers and loop limits between two states.
  RegisterChange(const int64_t *registersBefore, const int64_t *limitsBefore,
                 const int64_t *registersAfter, const int64_t *limitsAfter);

  /// Registers whose changes differ or are unknown in one of the two.
  RegisterSet differsFrom(const RegisterChange &other) const;
  /// Returns true if the limits of the outermost `depth` loops change equally.
  bool hasLimitsOf(const RegisterChange &other, size_t depth) const;
};

/// Follows one repetition instruction by instruction.
class ChangeBound {
public:
  struct Value {
    int64_t value, change;
    bool isKnown;
  };
  /// The value of an affine expression; eachTerm(visit) calls visit(register, coefficient).
  template <typename EachTerm>
  static Value evaluate(int64_t value, EachTerm &&eachTerm, const RegisterChange &change) {
    Value result = {value, 0, true};
    eachTerm([&](uint8_t reg, int64_t coefficient) {
      int64_t term;
      result.isKnown = result.isKnown && !change.unknown.test(reg) &&
                       !__builtin_mul_overflow(coefficient, change.registers[reg], &term) &&
                       !__builtin_add_overflow(result.change, term, &result.change);
    });
    return result;
  }

  /// Requires that the size clamp(limit - R[reg], 0, tile) stays the same.
  void keepExtent(int64_t tile, uint8_t reg, int64_t limit, const int64_t *registers,
                  const RegisterChange &change);
  void keepEqual(const Value &value);
  /// Call these before the instance runs the instruction. They update `change` to its values after
  /// the instruction.
  void visitLoop(uint8_t reg, size_t depth, const Value &start, const Value &limit,
                 RegisterChange &change);
  void visitEndLoop(uint8_t reg, size_t depth, int64_t step, const int64_t *registers,
                    const int64_t *limits, const RegisterChange &change);
  void visitLeave(uint8_t unless, const RegisterChange &change);
  void visitIndex(uint8_t dst, const Value &value, int64_t divide, int64_t modulo, int64_t multiply,
                  RegisterChange &change);
  void visitTable(uint8_t dst, const Value &index, RegisterChange &change);

  /// The number of further repetitions for which all decisions are the same.
  int64_t repetitions() const { return bound; }

private:
  /// Requires that `value` > 0 keeps its truth value.
  void keepSign(__int128 value, __int128 change);

  int64_t bound = int64_t(1) << 40;
};

} // namespace st::dtu

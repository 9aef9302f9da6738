// By how much registers differ between one repetition of a steady state and the next, and for how
// many repetitions all that they decide stays as it is.
#pragma once

#include "backends/dtu/isa/Registers.h"

#include <array>

namespace st::dtu {

/// What each register gains from one repetition to the next at the same place, where that is known.
struct RegisterDrift {
  std::array<int64_t, kNumRegisters> registers = {};
  std::array<int64_t, kMaxLoopDepth> limits = {};
  RegisterSet unknown;
  std::bitset<kMaxLoopDepth> unknownLimits;

  RegisterDrift() = default;
  /// What registers and limits of loops gained on the way from `before` to `after`.
  RegisterDrift(const int64_t *registersBefore, const int64_t *limitsBefore,
                const int64_t *registersAfter, const int64_t *limitsAfter);

  /// Registers of which the two say something else, or nothing.
  RegisterSet differsFrom(const RegisterDrift &other) const;
  /// Whether the limits of the outermost `depth` loops gain the same.
  bool hasLimitsOf(const RegisterDrift &other, size_t depth) const;
};

/// Follows one repetition instruction by instruction.
class DriftBound {
public:
  struct Value {
    int64_t value, drift;
    bool isKnown;
  };
  /// An affine expression's value, of which eachTerm(visit) calls visit(register, coefficient).
  template <typename EachTerm>
  static Value evaluate(int64_t value, EachTerm &&eachTerm, const RegisterDrift &drift) {
    Value result = {value, 0, true};
    eachTerm([&](uint8_t reg, int64_t coefficient) {
      int64_t term;
      result.isKnown = result.isKnown && !drift.unknown.test(reg) &&
                       !__builtin_mul_overflow(coefficient, drift.registers[reg], &term) &&
                       !__builtin_add_overflow(result.drift, term, &result.drift);
    });
    return result;
  }

  /// The size clamp(limit - R[reg], 0, tile) stays.
  void keepExtent(int64_t tile, uint8_t reg, int64_t limit, const int64_t *registers,
                  const RegisterDrift &drift);
  void keepEqual(const Value &value);
  /// These are to be called before the instance runs the instruction, and say in `drift` what holds
  /// behind it.
  void visitLoop(uint8_t reg, size_t depth, const Value &start, const Value &limit,
                 RegisterDrift &drift);
  void visitEndLoop(uint8_t reg, size_t depth, int64_t step, const int64_t *registers,
                    const int64_t *limits, const RegisterDrift &drift);
  void visitLeave(uint8_t unless, const RegisterDrift &drift);
  void visitIndex(uint8_t dst, const Value &value, int64_t divide, int64_t modulo, int64_t multiply,
                  RegisterDrift &drift);
  void visitTable(uint8_t dst, const Value &index, RegisterDrift &drift);

  /// For so many repetitions after the one followed all decisions are the same.
  int64_t repetitions() const { return bound; }

private:
  /// `value` > 0 stays true, or stays false.
  void keepSign(__int128 value, __int128 drift);

  int64_t bound = int64_t(1) << 40;
};

} // namespace st::dtu

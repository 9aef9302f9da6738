// By how much the registers of an instance differ between one repetition of a steady state and the
// next, and for how many repetitions all that they decide stays as it is.
#pragma once

#include "backends/dtu/simulator/TimeDecisions.h"
#include "backends/dtu/simulator/TimeState.h"

#include <array>

namespace st::dtu {

/// Facts of a stream that hold at each of its slots and behind the last one.
struct StreamFacts {
  StreamFacts(const DecodedProgram &program, const DecodedStream &stream);

  std::vector<RegisterSet> live; ///< registers that decide something later on
  std::vector<uint8_t> depth;    ///< loops that are open
};

/// What each register gains from one repetition to the next at the same place, where that is known.
struct RegisterDrift {
  std::array<int64_t, kNumRegisters> registers = {};
  std::array<int64_t, kMaxLoopDepth> limits = {};
  RegisterSet unknown;
  std::bitset<kMaxLoopDepth> unknownLimits;

  /// Registers of which the two say something else, or nothing.
  RegisterSet differsFrom(const RegisterDrift &other) const;
  /// Whether the limits of the outermost `depth` loops gain the same.
  bool hasLimitsOf(const RegisterDrift &other, size_t depth) const;
};

/// What the registers gained on the way from `before` to `after`.
RegisterDrift operator-(const StreamPosition &after, const StreamPosition &before);

/// Follows one repetition instruction by instruction.
class DriftBound {
public:
  /// To be called before the instance runs `slot`, at which it stands.
  void visit(const DecodedProgram &program, const StreamFacts &facts, const TimeInstance &instance,
             RegisterDrift &drift, const std::vector<int64_t> &table);
  /// For so many repetitions after the one followed all decisions are the same.
  int64_t repetitions() const { return bound; }

private:
  struct Value {
    int64_t value, drift;
    bool isKnown;
  };
  static Value evaluate(const FlatAffine &affine, const int64_t *registers,
                        const RegisterDrift &drift);
  /// `value` > 0 stays true, or stays false.
  void keepSign(__int128 value, __int128 drift);
  void keepExtent(const FlatExtent &extent, const int64_t *registers, const RegisterDrift &drift);
  void keepEqual(const Value &value);
  void visitLoop(const LoopInst &loop, const int64_t *registers, RegisterDrift &drift);
  void visitIndex(const IndexInst &inst, const int64_t *registers, RegisterDrift &drift);

  int64_t bound = int64_t(1) << 40;
};

} // namespace st::dtu

//===- CountedLoop.h - Loops with a known trip count -------------*- C++ -*-===//

#ifndef ST_DIALECTS_STABLEHLO_UTILS_COUNTEDLOOP_H
#define ST_DIALECTS_STABLEHLO_UTILS_COUNTEDLOOP_H

#include "dialects/StableHLO/StableHLOOps.h"

namespace mlir::st {

/// An integer scalar of a loop that starts at a constant and changes by a constant: before trip t,
/// counted from 0, it is `start + t * step`. For an invariant `step` is 0.
struct LinearCarry {
  unsigned index;
  int64_t start, step;
};

/// The linear form of argument `index` of the body, or std::nullopt.
std::optional<LinearCarry> findLinearCarry(stablehlo::WhileOp op, unsigned index);

/// Returns true if no trip changes the carried value at `index`.
bool isInvariant(stablehlo::WhileOp op, unsigned index);

struct CountedLoop {
  LinearCarry counter;
  int64_t trips;
};

/// The trip count of a loop that compares a linear counter with a constant, as JAX's `scan` and
/// `fori_loop` do; std::nullopt for any other loop, or if the counter would wrap.
std::optional<CountedLoop> findCountedLoop(stablehlo::WhileOp op);

} // namespace mlir::st

#endif // ST_DIALECTS_STABLEHLO_UTILS_COUNTEDLOOP_H

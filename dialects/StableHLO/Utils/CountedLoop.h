//===- CountedLoop.h - Loops whose number of trips is known -----*- C++ -*-===//

#ifndef ST_DIALECTS_STABLEHLO_UTILS_COUNTEDLOOP_H
#define ST_DIALECTS_STABLEHLO_UTILS_COUNTEDLOOP_H

#include "dialects/StableHLO/StableHLOOps.h"

namespace mlir::st {

/// An integer scalar of a loop that starts at a constant and changes by another: before
/// trip t, counted from 0, it is `start + t * step`. For an invariant one `step` is 0.
struct LinearCarry {
  unsigned index;
  int64_t start, step;
};

/// What argument `index` of the body is if it is linear, or nothing.
std::optional<LinearCarry> findLinearCarry(stablehlo::WhileOp op, unsigned index);

/// Whether no trip changes what the loop carries at `index`.
bool isInvariant(stablehlo::WhileOp op, unsigned index);

struct CountedLoop {
  LinearCarry counter;
  int64_t trips;
};

/// How often a loop runs that holds a linear counter against a constant, as JAX's `scan`
/// and `fori_loop` do; nothing for any other loop, and where the counter would wrap.
std::optional<CountedLoop> findCountedLoop(stablehlo::WhileOp op);

} // namespace mlir::st

#endif // ST_DIALECTS_STABLEHLO_UTILS_COUNTEDLOOP_H

// What it costs to make a value again in a later task instead of keeping it.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::st {

/// Cost of one elementwise pass over a tensor; scalars, views and arithmetic of indices cost 1.
constexpr int64_t kPassCost = 8;

/// What a tensor of this type takes.
int64_t getTensorBytes(Type tensor);

/// The cost of making `value` again from values that `isAtHand` accepts, or anything above `budget`
/// if that is exceeded or impossible.
int64_t getRecomputeCost(Value value, function_ref<bool(Value)> isAtHand, int64_t budget);

/// Whether an op only shows its operand differently, from no more bytes than it yields: then
/// keeping the operand is never worse than keeping the result.
bool isView(Operation *op);

/// Whether an op can take its operand on the fly, within a loop over its elements, rather than from
/// memory.
bool readsElementwise(Operation *op);

} // namespace mlir::st

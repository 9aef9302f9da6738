// The cost of recomputing a value in a later task instead of keeping it.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::st {

/// Cost of one elementwise pass over a tensor; scalars, views and index arithmetic cost 1.
constexpr int64_t kPassCost = 8;

/// The bytes of a tensor of this type.
int64_t getTensorBytes(Type tensor);

/// The cost of recomputing `value` from values that `isAtHand` accepts, or a number above `budget`
/// if that is exceeded or impossible.
int64_t getRecomputeCost(Value value, function_ref<bool(Value)> isAtHand, int64_t budget);

/// Returns true if an op only reinterprets its operand, which is no larger than its result: keeping
/// the operand is then never worse than keeping the result.
bool isView(Operation *op);

/// Returns true if an op copies matrices out of an argument, such as the weights of the expert that
/// each block of tokens needs. Copies are as large as the weights, so a task copies them again.
bool looksUpMatrices(Operation *op);

/// Returns true if an op can take its operand element by element within a loop, instead of from
/// memory.
bool readsElementwise(Operation *op);

} // namespace mlir::st

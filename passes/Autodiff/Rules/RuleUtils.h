//===- RuleUtils.h - Common parts of gradient rules -------------*- C++ -*-===//

#ifndef ST_PASSES_AUTODIFF_RULEUTILS_H
#define ST_PASSES_AUTODIFF_RULEUTILS_H

#include "dialects/StableHLO/Utils/Emitter.h"

namespace mlir::st {

inline bool isEmpty(Value x) { return Emitter::typeOf(x).getNumElements() == 0; }

/// A scalar zero of the element type of `like`.
Value scalarZero(Emitter &emit, Value like);

/// The sum of all elements, a scalar.
Value sumAll(Emitter &emit, Value x);

/// The op of a body that applies a single op to its two arguments, or null.
Operation *singleOp(Region &region);

/// Fills a region with a computation of two scalars.
void fillBody(Emitter &emit, Region &region, Type elementType,
              function_ref<Value(Value, Value)> make);
/// The same with their sum.
void fillWithSum(Emitter &emit, Region &region, Type elementType);

/// The part of a pad's cotangent that belongs to its operand.
Value unpadded(Emitter &emit, stablehlo::PadOp op, Value ct);

/// At each place, the product of all other elements along `dim`; exact if an element is zero.
Value productOfOthers(Emitter &emit, Value x, int64_t dim);

/// The complex conjugate.
Value conjugate(Emitter &emit, Value x);

} // namespace mlir::st

#endif // ST_PASSES_AUTODIFF_RULEUTILS_H

//===- ConstantFolding.h - Elementwise arithmetic on constants --*- C++ -*-===//

#ifndef ST_DIALECTS_STABLEHLO_CONSTANTFOLDING_H
#define ST_DIALECTS_STABLEHLO_CONSTANTFOLDING_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"

namespace mlir::stablehlo {

/// Results with more elements than this are not folded unless all elements are equal, so that
/// folding does not enlarge a module.
constexpr int64_t kMaxFoldedElements = 4096;

using IntUnaryFn = llvm::function_ref<std::optional<APInt>(const APInt &)>;
using FloatUnaryFn = llvm::function_ref<std::optional<APFloat>(const APFloat &)>;
using IntBinaryFn = llvm::function_ref<std::optional<APInt>(const APInt &, const APInt &)>;
using FloatBinaryFn = llvm::function_ref<std::optional<APFloat>(const APFloat &, const APFloat &)>;

/// Applies a function to the elements of constants of one type. Returns null if an attribute is not
/// a constant, the result is too large, or the function returns std::nullopt for an element. A null
/// function counts as one that always returns std::nullopt.
Attribute foldBinary(Attribute lhs, Attribute rhs, IntBinaryFn onInts, FloatBinaryFn onFloats);
Attribute foldUnary(Attribute operand, IntUnaryFn onInts, FloatUnaryFn onFloats);

/// Converts the elements of a constant; null if a value has no counterpart.
Attribute foldConvert(Attribute operand, ShapedType type);

/// Returns true if all elements are `value`; for floats, either zero counts as 0.
bool isSplatOf(Attribute attribute, int64_t value);

/// Returns true if integers of `type` are unsigned; preds are.
bool isUnsigned(Type type);

} // namespace mlir::stablehlo

#endif // ST_DIALECTS_STABLEHLO_CONSTANTFOLDING_H

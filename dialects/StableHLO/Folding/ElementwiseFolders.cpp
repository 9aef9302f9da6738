//===- ElementwiseFolders.cpp - Folding of elementwise ops ----------------===//
//
// Constants fold with the rounding of the element type. Transcendental functions are not folded,
// because their last bits depend on the backend.
//
// Identities of floats hold up to the sign of a zero: x + 0 folds to x.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/Folding/ConstantFolding.h"
#include "dialects/StableHLO/StableHLOOps.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::stablehlo;

using OptInt = std::optional<APInt>;
using OptFloat = std::optional<APFloat>;

/// Folds an op of two constants: the formulas compute the result for elements `a` and `b`.
#define FOLD_BINARY(INTS, FLOATS)                                                                  \
  foldBinary(                                                                                      \
      adaptor.getLhs(), adaptor.getRhs(),                                                          \
      [&](const APInt &a, const APInt &b) -> OptInt { return INTS; },                              \
      [&](const APFloat &a, const APFloat &b) -> OptFloat { return FLOATS; })

static bool isIntegral(Value value) { return isa<IntegerType>(getElementTypeOrSelf(value)); }

/// A constant of all zeros in `value`'s type.
static Attribute zeroLike(Value value) {
  auto type = cast<ShapedType>(value.getType());
  return DenseElementsAttr::get(type, APInt::getZero(type.getElementTypeBitWidth()));
}

/// Returns true if every bit of every element is set.
static bool isAllOnes(Attribute attribute) { return isSplatOf(attribute, -1); }

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0))
    return getLhs();
  bool isPred = getType().getElementType().isInteger(1);
  return FOLD_BINARY(isPred ? a | b : a + b, a + b);
}

OpFoldResult SubtractOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0))
    return getLhs();
  if (getLhs() == getRhs() && isIntegral(getLhs()))
    return zeroLike(getLhs());
  return FOLD_BINARY(a - b, a - b);
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1))
    return getLhs();
  // Excludes floats: 0 * inf is NaN.
  if (isIntegral(getRhs()) && isSplatOf(adaptor.getRhs(), 0))
    return adaptor.getRhs();
  return FOLD_BINARY(a * b, a * b);
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1))
    return getLhs();
  bool isUint = isUnsigned(getType().getElementType());
  // The results of division by zero and of overflow are implementation-defined.
  auto divide = [&](const APInt &a, const APInt &b) -> OptInt {
    if (b.isZero() || (!isUint && a.isMinSignedValue() && b.isAllOnes()))
      return std::nullopt;
    return isUint ? a.udiv(b) : a.sdiv(b);
  };
  return FOLD_BINARY(divide(a, b), a / b);
}

OpFoldResult RemOp::fold(FoldAdaptor adaptor) {
  bool isUint = isUnsigned(getType().getElementType());
  auto remainder = [&](const APInt &a, const APInt &b) -> OptInt {
    if (b.isZero() || (!isUint && a.isMinSignedValue() && b.isAllOnes()))
      return std::nullopt;
    return isUint ? a.urem(b) : a.srem(b);
  };
  auto mod = [](APFloat a, const APFloat &b) {
    a.mod(b);
    return a;
  };
  return FOLD_BINARY(remainder(a, b), mod(a, b));
}

OpFoldResult MaxOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs())
    return getLhs();
  bool isUint = isUnsigned(getType().getElementType());
  return FOLD_BINARY((isUint ? a.ugt(b) : a.sgt(b)) ? a : b, llvm::maximum(a, b));
}

OpFoldResult MinOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs())
    return getLhs();
  bool isUint = isUnsigned(getType().getElementType());
  return FOLD_BINARY((isUint ? a.ult(b) : a.slt(b)) ? a : b, llvm::minimum(a, b));
}

OpFoldResult NegOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getOperand().getDefiningOp<NegOp>())
    return inner.getOperand();
  return foldUnary(
      adaptor.getOperand(), [](const APInt &a) -> OptInt { return -a; },
      [](const APFloat &a) -> OptFloat { return llvm::neg(a); });
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

OpFoldResult NotOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getOperand().getDefiningOp<NotOp>())
    return inner.getOperand();
  return foldUnary(adaptor.getOperand(), [](const APInt &a) -> OptInt { return ~a; }, nullptr);
}

OpFoldResult AndOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() || isAllOnes(adaptor.getRhs()))
    return getLhs();
  if (isSplatOf(adaptor.getRhs(), 0))
    return adaptor.getRhs();
  return FOLD_BINARY(a & b, std::nullopt);
}

OpFoldResult OrOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() || isSplatOf(adaptor.getRhs(), 0))
    return getLhs();
  if (isAllOnes(adaptor.getRhs()))
    return adaptor.getRhs();
  return FOLD_BINARY(a | b, std::nullopt);
}

OpFoldResult XorOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0))
    return getLhs();
  if (getLhs() == getRhs())
    return zeroLike(getLhs());
  return FOLD_BINARY(a ^ b, std::nullopt);
}

// A shift by the width or more is defined: it shifts everything out.

OpFoldResult ShiftLeftOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0))
    return getLhs();
  return FOLD_BINARY(a.shl(b), std::nullopt);
}

OpFoldResult ShiftRightLogicalOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0))
    return getLhs();
  return FOLD_BINARY(a.lshr(b), std::nullopt);
}

OpFoldResult ShiftRightArithmeticOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0))
    return getLhs();
  return FOLD_BINARY(a.ashr(b), std::nullopt);
}

#undef FOLD_BINARY

//===----------------------------------------------------------------------===//
// Conversion, comparison, choice
//===----------------------------------------------------------------------===//

OpFoldResult ConvertOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return foldConvert(adaptor.getOperand(), getType());
}

/// Evaluates `direction` for two values whose order is known.
static bool holds(ComparisonDirection direction, bool isLess, bool isEqual) {
  switch (direction) {
  case ComparisonDirection::EQ:
    return isEqual;
  case ComparisonDirection::NE:
    return !isEqual;
  case ComparisonDirection::LT:
    return isLess;
  case ComparisonDirection::LE:
    return isLess || isEqual;
  case ComparisonDirection::GT:
    return !isLess && !isEqual;
  case ComparisonDirection::GE:
    return !isLess;
  }
  return false;
}

OpFoldResult CompareOp::fold(FoldAdaptor adaptor) {
  ComparisonDirection direction = getComparisonDirection();
  Type element = getElementTypeOrSelf(getLhs());
  auto toPred = [&](Attribute ints) -> Attribute {
    return ints ? foldConvert(ints, getType()) : Attribute();
  };
  if (isIntegral(getLhs())) {
    if (getLhs() == getRhs())
      return DenseElementsAttr::get(getType(), holds(direction, false, true));
    auto compare = [&](const APInt &a, const APInt &b) -> OptInt {
      bool isLess = isUnsigned(element) ? a.ult(b) : a.slt(b);
      return APInt(a.getBitWidth(), holds(direction, isLess, a == b));
    };
    return toPred(foldBinary(adaptor.getLhs(), adaptor.getRhs(), compare, nullptr));
  }
  if (getCompareType() == ComparisonType::TOTALORDER)
    return {};
  auto compare = [&](const APFloat &a, const APFloat &b) -> OptFloat {
    APFloat::cmpResult order = a.compare(b);
    // A NaN neither equals nor precedes any number.
    bool result = order == APFloat::cmpUnordered
                      ? direction == ComparisonDirection::NE
                      : holds(direction, order == APFloat::cmpLessThan, order == APFloat::cmpEqual);
    return result ? APFloat::getOne(a.getSemantics()) : APFloat::getZero(a.getSemantics());
  };
  return toPred(foldBinary(adaptor.getLhs(), adaptor.getRhs(), nullptr, compare));
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getOnTrue() == getOnFalse() || isSplatOf(adaptor.getPred(), 1))
    return getOnTrue();
  if (isSplatOf(adaptor.getPred(), 0))
    return getOnFalse();
  return {};
}

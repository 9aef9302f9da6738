//===- ElementwiseVerifiers.cpp - Constraints of elementwise ops ----------===//
//
// Labels like (C1) are those of the StableHLO specification. Constraints that a
// trait, an operand type or type inference checks do not appear here.
//
//===----------------------------------------------------------------------===//

#include "dialects/St/Interfaces/Notes.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Verification/VerifierUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::stablehlo;

LogicalResult ComplexOp::verify() {
  // (C1) lhs and rhs have one type.
  if (getLhs().getType() != getRhs().getType())
    return mlir::st::withNote(emitOpError("expects one type for lhs and rhs, got ")
                                  << getLhs().getType() << " and " << getRhs().getType(),
                              getRhs(), "rhs is defined here");
  return success();
}

/// Returns true if elements of `type` may be compared as `how`.
static bool isComparable(Type type, ComparisonType how) {
  switch (how) {
  case ComparisonType::NOTYPE:
    return true;
  case ComparisonType::FLOAT:
    return isa<FloatType, ComplexType>(type);
  case ComparisonType::TOTALORDER:
    return isa<FloatType>(type);
  case ComparisonType::SIGNED:
    return type.isSignlessInteger() && !type.isInteger(1);
  case ComparisonType::UNSIGNED:
    return type.isUnsignedInteger() || type.isInteger(1);
  }
  return false;
}

LogicalResult CompareOp::verify() {
  Type lhs = getElementTypeOrSelf(getLhs()), rhs = getElementTypeOrSelf(getRhs());
  // (C1) lhs and rhs have one element type; that shapes agree is a trait.
  if (lhs != rhs)
    return mlir::st::withNote(emitOpError("expects one element type for lhs and rhs, got ")
                                  << lhs << " and " << rhs,
                              getRhs(), "rhs is defined here");
  // (C3) The comparison type fits the element type.
  if (std::optional<ComparisonType> type = getCompareType(); type && !isComparable(lhs, *type))
    return emitOpError("cannot compare elements of type ")
           << lhs << " as " << stringifyComparisonType(*type);
  // (C4) Complex numbers have no order.
  bool isOrder = getComparisonDirection() != ComparisonDirection::EQ &&
                 getComparisonDirection() != ComparisonDirection::NE;
  if (isa<ComplexType>(lhs) && isOrder)
    return emitOpError("expects EQ or NE for elements of type ")
           << lhs << ", got " << stringifyComparisonDirection(getComparisonDirection());
  return success();
}

LogicalResult SelectOp::verify() {
  ShapedType pred = getPred().getType(), onTrue = getOnTrue().getType();
  // (C1) The predicate is a scalar or has the shape of the values.
  if (pred.getRank() != 0 && pred.getShape() != onTrue.getShape())
    return mlir::st::withNote(emitOpError("expects pred to be a scalar or to have the shape of ")
                                  << onTrue << ", got " << pred,
                              getPred(), "pred is defined here");
  // (C2) Both values have the type of the result.
  if (onTrue != getOnFalse().getType())
    return mlir::st::withNote(emitOpError("expects one type for on_true and on_false, got ")
                                  << onTrue << " and " << getOnFalse().getType(),
                              getOnFalse(), "on_false is defined here");
  return success();
}

LogicalResult ClampOp::verify() {
  ShapedType operand = getOperand().getType();
  for (auto [name, bound] :
       {std::pair<StringRef, ShapedType>("min", getMin().getType()), {"max", getMax().getType()}}) {
    // (C1), (C2) A bound is a scalar or has the operand's shape.
    if (bound.getRank() != 0 && bound.getShape() != operand.getShape())
      return emitOpError("expects ")
             << name << " to be a scalar or to have the shape of " << operand << ", got " << bound;
    // (C3) Bounds have the operand's element type.
    if (bound.getElementType() != operand.getElementType())
      return emitOpError("expects ")
             << name << " to have the element type of " << operand << ", got " << bound;
  }
  return success();
}

LogicalResult MapOp::verify() {
  // (C2) There is an input.
  if (getInputs().empty())
    return emitOpError("expects at least one input");
  // (C3) All dimensions are mapped, in order.
  int64_t rank = cast<ShapedType>(getInputs().front().getType()).getRank();
  if (!llvm::equal(getDimensions(), llvm::seq<int64_t>(0, rank)))
    return emitOpError("expects dimensions to list all ")
           << rank << " dimensions in order, got [" << getDimensions() << "]";
  // (C4) The computation takes and returns elements.
  SmallVector<Type> args = llvm::map_to_vector(
      getInputs(), [](Value input) -> Type { return scalarOf(input.getType()); });
  return verifyBody(*this, "computation", getComputation(), args, {scalarOf(getType())});
}

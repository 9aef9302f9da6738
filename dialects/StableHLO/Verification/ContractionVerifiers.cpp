//===- ContractionVerifiers.cpp - Constraints of dot_general --------------===//
//
// Labels like (C1) are those of the StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "dialects/St/Interfaces/Notes.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Verification/VerifierUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// Batching and contracting dimensions of one operand exist and are distinct:
/// (C3), (C5), (C7) of lhs, (C4), (C6), (C8) of rhs.
static LogicalResult verifyOperandDims(DotGeneralOp op, StringRef name, RankedTensorType type,
                                       ArrayRef<int64_t> batching, ArrayRef<int64_t> contracting) {
  SmallVector<int64_t> dims = llvm::to_vector(batching);
  llvm::append_range(dims, contracting);
  return verifyDims(op, ("batching and contracting dimensions of " + name).str(), dims,
                    type.getRank());
}

/// Paired dimensions have one size: (C1), (C9) of batching ones, (C2), (C10) of
/// contracting ones.
static LogicalResult verifyPairs(DotGeneralOp op, StringRef name, ArrayRef<int64_t> lhs,
                                 ArrayRef<int64_t> rhs) {
  if (lhs.size() != rhs.size())
    return op.emitOpError("expects as many ")
           << name << " dimensions of lhs as of rhs, got [" << lhs << "] and [" << rhs << "]";
  for (auto [lhsDim, rhsDim] : llvm::zip(lhs, rhs))
    if (op.getLhs().getType().getDimSize(lhsDim) != op.getRhs().getType().getDimSize(rhsDim))
      return mlir::st::withNote(op.emitOpError("expects ")
                                    << name << " dimensions of one size, got dimension " << lhsDim
                                    << " of " << op.getLhs().getType() << " and dimension "
                                    << rhsDim << " of " << op.getRhs().getType(),
                                op.getRhs(), "rhs is defined here");
  return success();
}

/// (C12) Batching dimensions, then the free ones of lhs, then those of rhs.
static SmallVector<int64_t> getResultShape(DotGeneralOp op) {
  DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  SmallVector<int64_t> shape;
  for (int64_t dim : numbers.getLhsBatchingDimensions())
    shape.push_back(lhs.getDimSize(dim));
  auto appendFree = [&](RankedTensorType type, ArrayRef<int64_t> batching,
                        ArrayRef<int64_t> contracting) {
    for (auto [dim, size] : llvm::enumerate(type.getShape()))
      if (!llvm::is_contained(batching, dim) && !llvm::is_contained(contracting, dim))
        shape.push_back(size);
  };
  appendFree(lhs, numbers.getLhsBatchingDimensions(), numbers.getLhsContractingDimensions());
  appendFree(rhs, numbers.getRhsBatchingDimensions(), numbers.getRhsContractingDimensions());
  return shape;
}

/// (C11), (C17)-(C23) Precision per operand, sensible counts of an algorithm.
static LogicalResult verifyPrecision(DotGeneralOp op) {
  if (ArrayAttr precision = op.getPrecisionConfigAttr()) {
    if (precision.size() != 2)
      return op.emitOpError("expects 2 precisions, one per operand, got ") << precision.size();
    auto isDefault = [](PrecisionAttr each) { return each.getValue() == Precision::DEFAULT; };
    if (op.getAlgorithm() && !llvm::all_of(precision.getAsRange<PrecisionAttr>(), isDefault))
      return op.emitOpError("expects DEFAULT precision with an algorithm, got ") << precision;
  }
  DotAlgorithmAttr algorithm = op.getAlgorithmAttr();
  if (algorithm && (algorithm.getLhsComponentCount() < 1 || algorithm.getRhsComponentCount() < 1 ||
                    algorithm.getNumPrimitiveOperations() < 1))
    return op.emitOpError("expects positive counts in its algorithm, got ") << algorithm;
  return success();
}

/// (C13) Operands have one element type, except that float types may differ: JAX prints f32 x bf16
/// in gradients of attention, and so does HLO. The product uses the wider type.
static LogicalResult verifyElementTypes(DotGeneralOp op) {
  Type lhs = op.getLhs().getType().getElementType(), rhs = op.getRhs().getType().getElementType();
  if (lhs == rhs || (isa<FloatType>(lhs) && isa<FloatType>(rhs)))
    return success();
  return op.emitOpError("expects one element type for lhs and rhs, got ") << lhs << " and " << rhs;
}

LogicalResult DotGeneralOp::verify() {
  DotDimensionNumbersAttr numbers = getDotDimensionNumbers();
  ArrayRef<int64_t> lhsBatching = numbers.getLhsBatchingDimensions(),
                    rhsBatching = numbers.getRhsBatchingDimensions(),
                    lhsContracting = numbers.getLhsContractingDimensions(),
                    rhsContracting = numbers.getRhsContractingDimensions();
  if (failed(verifyOperandDims(*this, "lhs", getLhs().getType(), lhsBatching, lhsContracting)) ||
      failed(verifyOperandDims(*this, "rhs", getRhs().getType(), rhsBatching, rhsContracting)) ||
      failed(verifyPairs(*this, "batching", lhsBatching, rhsBatching)) ||
      failed(verifyPairs(*this, "contracting", lhsContracting, rhsContracting)) ||
      failed(verifyPrecision(*this)) || failed(verifyElementTypes(*this)))
    return failure();
  SmallVector<int64_t> shape = getResultShape(*this);
  if (getType().getShape() != ArrayRef(shape))
    return emitOpError("expects a result of shape [") << shape << "], got " << getType();
  return success();
}

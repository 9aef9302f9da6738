//===- LinearAlgebraVerifiers.cpp - Constraints of transforms and solvers -===//
//
// Labels like (C1) are those of the StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "dialects/St/Interfaces/Notes.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// (C2) Both types are complex, except the operand of RFFT and the result of IRFFT.
static FailureOr<Type> inferFftElement(std::optional<Location> location, FftType kind,
                                       RankedTensorType operand) {
  Type element = operand.getElementType();
  bool isReal = kind == FftType::RFFT;
  if (isReal == isa<ComplexType>(element)) {
    (void)emitOptionalError(location, "stablehlo.fft of type ", stringifyFftType(kind), " expects ",
                            isReal ? "real" : "complex", " numbers, got ", operand);
    return failure();
  }
  if (kind == FftType::RFFT)
    return Type(ComplexType::get(element));
  return kind == FftType::IRFFT ? cast<ComplexType>(element).getElementType() : element;
}

LogicalResult FftOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  ArrayRef<int64_t> length = adaptor.getFftLength();
  FftType kind = adaptor.getFftType();
  FailureOr<Type> element = inferFftElement(location, kind, operand);
  if (failed(element))
    return failure();
  // (C1), (C3)
  if (length.empty() || length.size() > 3 ||
      static_cast<int64_t>(length.size()) > operand.getRank())
    return emitOptionalError(location,
                             "stablehlo.fft expects 1 to 3 lengths and as many "
                             "dimensions, got [",
                             length, "] and ", operand);
  // (C4), (C5)
  SmallVector<int64_t> shape(operand.getShape()), expected(length);
  if (kind == FftType::IRFFT && expected.back() > 0)
    expected.back() = expected.back() / 2 + 1;
  if (!llvm::equal(expected, ArrayRef(shape).take_back(length.size())))
    return emitOptionalError(location, "stablehlo.fft of type ", stringifyFftType(kind),
                             " and length [", length, "] expects last dimensions [",
                             ArrayRef<int64_t>(expected), "], got ", operand);
  if (kind == FftType::RFFT && shape.back() > 0)
    shape.back() = shape.back() / 2 + 1;
  if (kind == FftType::IRFFT)
    shape.back() = length.back();
  types.push_back(RankedTensorType::get(shape, *element));
  return success();
}

/// A batch of square matrices: (C2), (C3) of cholesky, (C3) of triangular_solve.
static LogicalResult verifySquare(Operation *op, RankedTensorType type) {
  int64_t rank = type.getRank();
  if (rank < 2 || type.getDimSize(rank - 1) != type.getDimSize(rank - 2))
    return op->emitOpError("expects square matrices, got ") << type;
  return success();
}

LogicalResult CholeskyOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getA().getType());
  return success();
}

LogicalResult CholeskyOp::verify() { return verifySquare(*this, getA().getType()); }

LogicalResult TriangularSolveOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                  Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getB().getType());
  return success();
}

LogicalResult TriangularSolveOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType();
  if (failed(verifySquare(*this, a)))
    return failure();
  int64_t rank = a.getRank();
  // (C1), (C2)
  if (a.getElementType() != b.getElementType() || b.getRank() != rank ||
      a.getShape().drop_back(2) != b.getShape().drop_back(2))
    return mlir::st::withNote(emitOpError("expects a and b of one element type and one batch, got ")
                                  << a << " and " << b,
                              getB(), "b is defined here");
  int64_t shared = b.getDimSize(getLeftSide() ? rank - 2 : rank - 1);
  if (shared != a.getDimSize(rank - 1))
    return mlir::st::withNote(emitOpError("expects ")
                                  << a.getDimSize(rank - 1) << " equations, got " << b,
                              getB(), "b is defined here");
  // (C4)
  if (getTransposeA() == Transpose::TRANSPOSE_INVALID)
    return emitOpError("expects transpose_a to be valid");
  return success();
}

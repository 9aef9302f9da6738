//===- DataMovementVerifiers.cpp - Constraints of ops that move data ------===//
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

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  // (C1) The value has the type of the result.
  if (getValue().getShapedType() != getType())
    return emitOpError("expects a value of type ")
           << getType() << ", got " << getValue().getShapedType();
  return success();
}

LogicalResult IotaOp::verify() {
  // (C1) The dimension exists.
  int64_t rank = getType().getRank(), dim = getIotaDimension();
  if (dim >= rank)
    return emitOpError("expects iota_dimension to be in [0, ") << rank << "), got " << dim;
  return success();
}

LogicalResult RngBitGeneratorOp::verify() {
  RankedTensorType state = getInitialState().getType();
  // (C1) The state keeps its type.
  if (state != getOutputState().getType())
    return emitOpError("expects one type for initial_state and output_state, got ")
           << state << " and " << getOutputState().getType();
  // (C2) The state has the size of its algorithm.
  if (state.getRank() != 1)
    return emitOpError("expects initial_state to have 1 dimension, got ") << state;
  int64_t bits = state.getNumElements() * state.getElementTypeBitWidth();
  RngAlgorithm algorithm = getRngAlgorithm();
  if (algorithm == RngAlgorithm::THREE_FRY && bits != 128)
    return emitOpError("expects initial_state to have 128 bits for THREE_FRY, got ") << state;
  if (algorithm == RngAlgorithm::PHILOX && bits != 128 && bits != 192)
    return emitOpError("expects initial_state to have 128 or 192 bits for PHILOX, got ") << state;
  return success();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Operand and result have one element type.
static LogicalResult verifyElementType(Operation *op) {
  Type operand = getElementTypeOrSelf(op->getOperand(0));
  Type result = getElementTypeOrSelf(op->getResult(0));
  if (operand != result)
    return op->emitOpError("expects operand and result to have one element type, got ")
           << operand << " and " << result;
  return success();
}

/// The width of an element; that of a complex number counts both parts.
static int64_t getBitWidth(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * complex.getElementType().getIntOrFloatBitWidth();
  return element.getIntOrFloatBitWidth();
}

LogicalResult BitcastConvertOp::verify() {
  RankedTensorType operand = getOperand().getType(), result = getType();
  // (C2) Complex numbers convert to complex numbers only.
  if (isa<ComplexType>(operand.getElementType()) != isa<ComplexType>(result.getElementType()))
    return emitOpError("cannot convert between complex and other elements: ")
           << operand << " and " << result;
  // (C1) Widths agree, or the narrower tensor has one more, minor dimension.
  int64_t from = getBitWidth(operand.getElementType()), to = getBitWidth(result.getElementType());
  RankedTensorType narrow = from < to ? operand : result, wide = from < to ? result : operand;
  SmallVector<int64_t> expected(wide.getShape());
  if (from != to)
    expected.push_back(std::max(from, to) / std::min(from, to));
  if (std::max(from, to) % std::min(from, to) != 0 || narrow.getShape() != ArrayRef(expected))
    return emitOpError("expects operand and result to have the same bits, got ")
           << operand << " and " << result;
  return success();
}

LogicalResult BroadcastInDimOp::verify() {
  RankedTensorType operand = getOperand().getType(), result = getType();
  ArrayRef<int64_t> dims = getBroadcastDimensions();
  // (C1)-(C4)
  if (failed(verifyElementType(*this)) ||
      failed(verifySizeIsRank(*this, "broadcast_dimensions", dims.size(), operand.getRank())) ||
      failed(verifyDims(*this, "broadcast_dimensions", dims, result.getRank())))
    return failure();
  // (C5) A dimension is kept or repeated from size one.
  for (auto [i, dim] : llvm::enumerate(dims))
    if (operand.getDimSize(i) != 1 && operand.getDimSize(i) != result.getDimSize(dim))
      return emitOpError("expects dimension ")
             << i << " of the operand to be 1 or " << result.getDimSize(dim)
             << ", the size of dimension " << dim << " of the result, got "
             << operand.getDimSize(i);
  return success();
}

LogicalResult ReshapeOp::verify() {
  // (C1), (C2)
  if (failed(verifyElementType(*this)))
    return failure();
  if (getOperand().getType().getNumElements() != getType().getNumElements())
    return emitOpError("expects operand and result to have the same number of elements, got ")
           << getOperand().getType() << " and " << getType();
  return success();
}

LogicalResult ReverseOp::verify() {
  // (C2), (C3)
  return verifyDims(*this, "dimensions", getDimensions(), getType().getRank());
}

LogicalResult TransposeOp::verify() {
  // (C2) The permutation is one.
  int64_t rank = getOperand().getType().getRank();
  if (failed(verifySizeIsRank(*this, "permutation", getPermutation().size(), rank)))
    return failure();
  return verifyDims(*this, "permutation", getPermutation(), rank);
}

//===----------------------------------------------------------------------===//
// Pieces of tensors
//===----------------------------------------------------------------------===//

LogicalResult ConcatenateOp::verify() {
  // (C3) There is an input.
  if (getInputs().empty())
    return emitOpError("expects at least one input");
  auto first = cast<RankedTensorType>(getInputs().front().getType());
  int64_t dim = getDimension();
  // (C4) The dimension exists.
  if (dim >= first.getRank())
    return emitOpError("expects dimension to be in [0, ") << first.getRank() << "), got " << dim;
  // (C1), (C2) Types agree in all but that dimension.
  for (Value input : getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (type.getRank() == first.getRank())
      shape[dim] = first.getDimSize(dim);
    if (type.getElementType() != first.getElementType() || ArrayRef(shape) != first.getShape())
      return mlir::st::withNote(emitOpError("expects inputs that differ in dimension ")
                                    << dim << " only, got " << first << " and " << type,
                                input, "the second is defined here");
  }
  return success();
}

LogicalResult SliceOp::verify() {
  RankedTensorType operand = getOperand().getType();
  // (C2) One range per dimension.
  if (failed(
          verifySizeIsRank(*this, "start_indices", getStartIndices().size(), operand.getRank())) ||
      failed(
          verifySizeIsRank(*this, "limit_indices", getLimitIndices().size(), operand.getRank())) ||
      failed(verifySizeIsRank(*this, "strides", getStrides().size(), operand.getRank())))
    return failure();
  for (auto [dim, start, limit, stride] :
       llvm::enumerate(getStartIndices(), getLimitIndices(), getStrides())) {
    // (C3) 0 <= start <= limit <= size.
    if (start < 0 || limit < start || limit > operand.getDimSize(dim))
      return emitOpError("expects 0 <= start <= limit <= ")
             << operand.getDimSize(dim) << " in dimension " << dim << ", got " << start << ":"
             << limit;
    // (C4)
    if (stride < 1)
      return emitOpError("expects a positive stride in dimension ") << dim << ", got " << stride;
  }
  return success();
}

/// One index per dimension, all of one type: (C2), (C3) of dynamic_slice and
/// (C4), (C5) of dynamic_update_slice.
static LogicalResult verifyStartIndices(Operation *op, ValueRange indices, int64_t rank) {
  if (failed(verifySizeIsRank(op, "start_indices", indices.size(), rank)))
    return failure();
  for (Value index : indices)
    if (index.getType() != indices.front().getType())
      return mlir::st::withNote(op->emitOpError("expects one type for all start_indices, got ")
                                    << indices.front().getType() << " and " << index.getType(),
                                index, "the second is defined here");
  return success();
}

LogicalResult DynamicSliceOp::verify() {
  RankedTensorType operand = getOperand().getType();
  if (failed(verifyStartIndices(*this, getStartIndices(), operand.getRank())) ||
      failed(verifySizeIsRank(*this, "slice_sizes", getSliceSizes().size(), operand.getRank())))
    return failure();
  // (C4) The slice fits into the operand.
  for (auto [dim, size] : llvm::enumerate(getSliceSizes()))
    if (size < 0 || size > operand.getDimSize(dim))
      return emitOpError("expects a slice size of 0 to ")
             << operand.getDimSize(dim) << " in dimension " << dim << ", got " << size;
  return success();
}

LogicalResult DynamicUpdateSliceOp::verify() {
  RankedTensorType operand = getOperand().getType(), update = getUpdate().getType();
  // (C2), (C3), (C6) The update fits into the operand.
  bool fits = update.getElementType() == operand.getElementType() &&
              update.getRank() == operand.getRank() &&
              llvm::all_of(llvm::zip(update.getShape(), operand.getShape()),
                           [](auto sizes) { return std::get<0>(sizes) <= std::get<1>(sizes); });
  if (!fits)
    return mlir::st::withNote(emitOpError("expects an update that fits into ")
                                  << operand << ", got " << update,
                              getUpdate(), "the update is defined here");
  return verifyStartIndices(*this, getStartIndices(), operand.getRank());
}

LogicalResult PadOp::verify() {
  RankedTensorType operand = getOperand().getType();
  // (C1) One element type.
  if (getPaddingValue().getType().getElementType() != operand.getElementType())
    return emitOpError("expects padding_value to have the element type of ")
           << operand << ", got " << getPaddingValue().getType();
  // (C2) One amount per dimension.
  if (failed(verifySizeIsRank(*this, "edge_padding_low", getEdgePaddingLow().size(),
                              operand.getRank())) ||
      failed(verifySizeIsRank(*this, "edge_padding_high", getEdgePaddingHigh().size(),
                              operand.getRank())) ||
      failed(verifySizeIsRank(*this, "interior_padding", getInteriorPadding().size(),
                              operand.getRank())))
    return failure();
  for (auto [dim, size, low, high, interior] : llvm::enumerate(
           operand.getShape(), getEdgePaddingLow(), getEdgePaddingHigh(), getInteriorPadding())) {
    // (C3)
    if (interior < 0)
      return emitOpError("expects no negative interior padding in dimension ")
             << dim << ", got " << interior;
    // (C4) Cropping leaves no negative size.
    std::optional<int64_t> padded = getPaddedSize(size, low, high, interior);
    if (!padded)
      return emitOpError("pads dimension ") << dim << " to a size that exceeds 64 bits";
    if (*padded < 0)
      return emitOpError("crops dimension ") << dim << " to a size of " << *padded;
  }
  return success();
}

//===- ReductionVerifiers.cpp - Constraints of reductions and sorts -------===//
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

/// The body works in element types to which inputs and initial values may be
/// promoted: (C2), (C6), (C8) of reduce and (C3), (C13), (C16) of reduce_window.
static LogicalResult verifyReducer(Operation *op, ValueRange inputs, ValueRange inits,
                                   Region &body) {
  SmallVector<Type> elements = getReturnedTypes(body);
  if (elements.size() != inputs.size())
    elements = llvm::map_to_vector(inits, [](Value init) { return init.getType(); });
  for (auto [input, init, element] : llvm::zip(inputs, inits, elements)) {
    for (Value value : {input, init})
      if (!isPromotable(getElementTypeOrSelf(value), getElementTypeOrSelf(element)))
        return op->emitOpError("expects inputs and initial values of an element type that can be "
                               "accumulated in ")
               << getElementTypeOrSelf(element) << ", got " << value.getType();
    element = scalarOf(element);
  }
  SmallVector<Type> args = llvm::to_vector(llvm::concat<Type>(elements, elements));
  return verifyBody(op, "body", body, args, elements);
}

LogicalResult ReduceOp::verify() {
  // (C3), (C1)
  if (getInputs().empty())
    return emitOpError("expects at least one input");
  if (failed(verifySameShapes(*this, "inputs", getInputs().getTypes())))
    return failure();
  // (C4), (C5)
  int64_t rank = cast<ShapedType>(getInputs().front().getType()).getRank();
  if (failed(verifyDims(*this, "dimensions", getDimensions(), rank)))
    return failure();
  return verifyReducer(*this, getInputs(), getInitValues(), getBody());
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// A list with one positive number per dimension, which may be absent.
static LogicalResult verifyWindowList(Operation *op, StringRef name,
                                      std::optional<ArrayRef<int64_t>> values, int64_t rank) {
  if (!values)
    return success();
  if (failed(verifySizeIsRank(op, name, values->size(), rank)))
    return failure();
  for (int64_t value : *values)
    if (value < 1)
      return op->emitOpError() << "expects " << name << " to be positive, got [" << *values << "]";
  return success();
}

static LogicalResult verifyPadding(Operation *op, std::optional<DenseIntElementsAttr> padding,
                                   int64_t rank) {
  if (!padding || padding->getType().getShape() == ArrayRef<int64_t>{rank, 2})
    return success();
  return op->emitOpError("expects padding of the shape ")
         << rank << "x2, got " << padding->getType();
}

LogicalResult ReduceWindowOp::verify() {
  // (C1), (C2)
  if (getInputs().empty())
    return emitOpError("expects at least one input");
  if (failed(verifySameShapes(*this, "inputs", getInputs().getTypes())))
    return failure();
  // (C4)-(C12)
  int64_t rank = cast<ShapedType>(getInputs().front().getType()).getRank();
  if (failed(verifyWindowList(*this, "window_dimensions", getWindowDimensions(), rank)) ||
      failed(verifyWindowList(*this, "window_strides", getWindowStrides(), rank)) ||
      failed(verifyWindowList(*this, "base_dilations", getBaseDilations(), rank)) ||
      failed(verifyWindowList(*this, "window_dilations", getWindowDilations(), rank)) ||
      failed(verifyPadding(*this, getPadding(), rank)))
    return failure();
  auto first = cast<ShapedType>(getInputs().front().getType());
  for (auto [dim, size, window] : llvm::enumerate(
           first.getShape(), getWindows(getWindowDimensions(), getWindowStrides(), getPadding(),
                                        getBaseDilations(), getWindowDilations())))
    if (!countWindows(size, window))
      return emitOpError("has more windows in dimension ") << dim << " than 64 bits can count";
  return verifyReducer(*this, getInputs(), getInitValues(), getBody());
}

LogicalResult SelectAndScatterOp::verify() {
  RankedTensorType operand = getOperand().getType(), source = getSource().getType();
  // (C1), (C3), (C11), (C12) One element type; the result is like the operand.
  if (source.getElementType() != operand.getElementType() ||
      getInitValue().getType() != scalarOf(operand) || getType() != operand)
    return emitOpError("expects source, init_value and result of the element type of ")
           << operand << ", got " << source << ", " << getInitValue().getType() << " and "
           << getType();
  // (C4)-(C8)
  int64_t rank = operand.getRank();
  if (failed(verifyWindowList(*this, "window_dimensions", getWindowDimensions(), rank)) ||
      failed(verifyWindowList(*this, "window_strides", getWindowStrides(), rank)) ||
      failed(verifyPadding(*this, getPadding(), rank)))
    return failure();
  // (C2) The source has one element per window.
  SmallVector<int64_t> ones(rank, 1), windows;
  for (auto [size, window] :
       llvm::zip(operand.getShape(), getWindows(getWindowDimensions().value_or(ones),
                                                getWindowStrides(), getPadding(), {}, {})))
    windows.push_back(countWindows(size, window).value_or(-1));
  if (source.getShape() != ArrayRef(windows))
    return mlir::st::withNote(emitOpError("expects a source of one element per window, [")
                                  << windows << "], got " << source,
                              getSource(), "the source is defined here");
  // (C9), (C10)
  Type element = scalarOf(operand);
  Type pred = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  if (failed(verifyBody(*this, "select", getSelect(), {element, element}, {pred})))
    return failure();
  return verifyBody(*this, "scatter", getScatter(), {element, element}, {element});
}

//===----------------------------------------------------------------------===//
// sort
//===----------------------------------------------------------------------===//

LogicalResult SortOp::verify() {
  // (C1), (C3)
  if (getInputs().empty())
    return emitOpError("expects at least one input");
  if (failed(verifySameShapes(*this, "inputs", getInputs().getTypes())))
    return failure();
  // (C4)
  int64_t rank = cast<ShapedType>(getInputs().front().getType()).getRank();
  int64_t dim = getDimension();
  if (dim < -rank || dim >= rank)
    return emitOpError("expects dimension to be in [") << -rank << ", " << rank << "), got " << dim;
  // (C5) The comparator takes a pair of elements of each input.
  SmallVector<Type> args;
  for (Value input : getInputs())
    args.append(2, scalarOf(input.getType()));
  Type pred = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  return verifyBody(*this, "comparator", getComparator(), args, {pred});
}

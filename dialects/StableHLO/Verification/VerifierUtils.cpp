//===- VerifierUtils.cpp - Checks that many verifiers share ---------------===//

#include "dialects/StableHLO/Verification/VerifierUtils.h"

#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mlir::stablehlo;

LogicalResult stablehlo::verifyDims(Operation *op, StringRef name, ArrayRef<int64_t> dims,
                                    int64_t rank) {
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim < 0 || dim >= rank)
      return op->emitOpError() << "expects " << name << " to be in [0, " << rank << "), got "
                               << dim;
    if (llvm::is_contained(dims.take_front(i), dim))
      return op->emitOpError() << "expects " << name << " to be distinct, got [" << dims << "]";
  }
  return success();
}

LogicalResult stablehlo::verifySortedDims(Operation *op, StringRef name, ArrayRef<int64_t> dims,
                                          int64_t rank) {
  if (failed(verifyDims(op, name, dims, rank)))
    return failure();
  if (!llvm::is_sorted(dims))
    return op->emitOpError() << "expects " << name << " to be sorted, got [" << dims << "]";
  return success();
}

LogicalResult stablehlo::verifySizeIsRank(Operation *op, StringRef name, size_t size,
                                          int64_t rank) {
  if (static_cast<int64_t>(size) == rank)
    return success();
  return op->emitOpError() << "expects " << name << " to have " << rank
                           << " elements, one per dimension, got " << size;
}

LogicalResult stablehlo::verifySameShapes(Operation *op, StringRef name, TypeRange types) {
  for (Type type : types)
    if (cast<ShapedType>(type).getShape() != cast<ShapedType>(types.front()).getShape())
      return op->emitOpError() << "expects one shape for all " << name << ", got " << types.front()
                               << " and " << type;
  return success();
}

/// mlir-reduce runs the verifier after it has erased ops. An op with a region is verified before
/// the ops in it, whose operands may be gone.
static bool hasOperands(Operation *op) {
  return llvm::all_of(op->getOperands(), [](Value operand) { return operand != nullptr; });
}

LogicalResult stablehlo::verifyBody(Operation *op, StringRef name, Region &body, TypeRange args,
                                    TypeRange results) {
  Block &block = body.front();
  if (block.getArgumentTypes() != args)
    return op->emitOpError() << "expects its " << name << " to take (" << args << "), got ("
                             << block.getArgumentTypes() << ")";
  auto last = block.empty() ? ReturnOp() : dyn_cast<ReturnOp>(block.back());
  if (!last || !hasOperands(last))
    return op->emitOpError() << "expects its " << name << " to end in stablehlo.return";
  if (last.getOperandTypes() != results) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "expects its " << name << " to return (" << results << "), got ("
                              << last.getOperandTypes() << ")";
    diag.attachNote(last.getLoc()) << "returned here";
    return diag;
  }
  return success();
}

SmallVector<Type> stablehlo::getReturnedTypes(Region &body) {
  if (body.empty() || body.front().empty() || !isa<ReturnOp>(body.front().back()) ||
      !hasOperands(&body.front().back()))
    return {};
  return SmallVector<Type>(body.front().back().getOperandTypes());
}

bool stablehlo::isPromotable(Type from, Type to) {
  if (from == to)
    return true;
  auto fromComplex = dyn_cast<ComplexType>(from), toComplex = dyn_cast<ComplexType>(to);
  if (fromComplex && toComplex)
    return isPromotable(fromComplex.getElementType(), toComplex.getElementType());
  auto fromInt = dyn_cast<IntegerType>(from), toInt = dyn_cast<IntegerType>(to);
  if (fromInt && toInt)
    return fromInt.getSignedness() == toInt.getSignedness() && fromInt.getWidth() != 1 &&
           fromInt.getWidth() <= toInt.getWidth();
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
  return false;
}

std::optional<int64_t> stablehlo::getPaddedSize(int64_t size, int64_t low, int64_t high,
                                                int64_t interior) {
  std::optional<int64_t> inside =
      llvm::checkedMulAdd<int64_t>(std::max<int64_t>(size - 1, 0), interior, size);
  std::optional<int64_t> edges = llvm::checkedAdd(low, high);
  if (!inside || !edges)
    return std::nullopt;
  return llvm::checkedAdd(*inside, *edges);
}

std::optional<int64_t> stablehlo::countWindows(int64_t size, const Window &window) {
  std::optional<int64_t> base =
      getPaddedSize(size, window.low, window.high, window.baseDilation - 1);
  std::optional<int64_t> span = getPaddedSize(window.size, 0, 0, window.dilation - 1);
  if (!base || !span)
    return std::nullopt;
  return *base <= 0 || *span > *base ? 0 : (*base - *span) / window.stride + 1;
}

SmallVector<Window> stablehlo::getWindows(ArrayRef<int64_t> sizes,
                                          std::optional<ArrayRef<int64_t>> strides,
                                          std::optional<DenseIntElementsAttr> padding,
                                          std::optional<ArrayRef<int64_t>> baseDilations,
                                          std::optional<ArrayRef<int64_t>> dilations) {
  SmallVector<Window> windows(sizes.size());
  auto fill = [&](int64_t Window::*field, std::optional<ArrayRef<int64_t>> values) {
    if (values)
      for (auto [window, value] : llvm::zip(windows, *values))
        window.*field = value;
  };
  fill(&Window::size, sizes);
  fill(&Window::stride, strides);
  fill(&Window::baseDilation, baseDilations);
  fill(&Window::dilation, dilations);
  if (padding && padding->getNumElements() == 2 * static_cast<int64_t>(sizes.size()))
    for (auto [i, window] : llvm::enumerate(windows)) {
      window.low = padding->getValues<int64_t>()[2 * i];
      window.high = padding->getValues<int64_t>()[2 * i + 1];
    }
  return windows;
}

RankedTensorType stablehlo::scalarOf(Type type) {
  return RankedTensorType::get({}, getElementTypeOrSelf(type));
}

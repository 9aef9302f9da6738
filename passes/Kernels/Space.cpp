#include "passes/Kernels/Space.h"
#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::st;

SmallVector<int64_t> mlir::st::squeeze(Value value) {
  SmallVector<int64_t> sizes;
  for (int64_t size : shapeOf(value))
    if (size != 1)
      sizes.push_back(size);
  return sizes;
}

int64_t mlir::st::getNumElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

int64_t mlir::st::getElementBytes(Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

/// The bit of each squeezed dimension of a value with `axes`.
static SmallVector<Axes> splitAxes(Axes axes) {
  SmallVector<Axes> bits;
  for (; axes != 0; axes &= axes - 1)
    bits.push_back(axes & -axes);
  return bits;
}

static Axes getBroadcastOperandAxes(stablehlo::BroadcastInDimOp op, Axes axes) {
  ArrayRef<int64_t> from = shapeOf(op.getOperand()), to = shapeOf(op.getResult());
  SmallVector<Axes> bits = splitAxes(axes);
  SmallVector<Axes> bitOfDim(to.size(), 0);
  unsigned next = 0;
  for (auto [bit, size] : llvm::zip_equal(bitOfDim, to))
    if (size != 1 && next < bits.size())
      bit = bits[next++];
  Axes result = 0;
  for (auto [dim, target] : llvm::enumerate(op.getBroadcastDimensions()))
    if (from[dim] != 1)
      result |= bitOfDim[target];
  return result;
}

Axes mlir::st::getOperandAxes(OpOperand &operand, Axes axes, ArrayRef<int64_t> space) {
  Operation *op = operand.getOwner();
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op))
    return getBroadcastOperandAxes(broadcast, axes);
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    return operand.getOperandNumber() < reduce.getInputs().size() ? allAxes(space.size()) : 0;
  return getNumElements(operand.get()) == 1 ? 0 : axes;
}

Axes mlir::st::getReducedAxes(Operation *op) {
  auto reduce = cast<stablehlo::ReduceOp>(op);
  Axes reduced = 0, bit = 1;
  for (auto [dim, size] : llvm::enumerate(shapeOf(reduce.getInputs().front()))) {
    if (size == 1)
      continue;
    if (llvm::is_contained(reduce.getDimensions(), static_cast<int64_t>(dim)))
      reduced |= bit;
    bit <<= 1;
  }
  return reduced;
}

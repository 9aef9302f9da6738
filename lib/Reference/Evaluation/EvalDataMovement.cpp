#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/TensorTypes.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::st::ref {

using namespace stablehlo;

// The start indices are scalars, one per dimension.
static Shape toStarts(ArrayRef<Tensor> indices) {
  Shape starts;
  for (const Tensor &index : indices)
    starts.push_back(toInteger(index));
  return starts;
}

static Tensor dynamicSlice(const Tensor &operand, ArrayRef<Tensor> indices,
                           ArrayRef<int64_t> sizes) {
  Shape starts = clampStarts(toStarts(indices), operand.getShape(), sizes);
  return slice(operand, starts, Shape(starts.size(), 1), sizes);
}

static Tensor dynamicUpdateSlice(const Tensor &operand, const Tensor &update,
                                 ArrayRef<Tensor> indices) {
  return updateSlice(operand, update,
                     clampStarts(toStarts(indices), operand.getShape(), update.getShape()));
}

// A wide element consists of narrow ones, the least significant first, as along a minor dimension.
static Tensor bitcast(const Tensor &operand, ElementType type, ArrayRef<int64_t> shape) {
  if ((type == ElementType::BOOL) != (operand.getType() == ElementType::BOOL))
    return Tensor();
  return operand.view(type, shape);
}

Outcome evalDataMovement(TensorCall &call) {
  ArrayRef<Tensor> operands = call.operands;
  return llvm::TypeSwitch<Operation *, Outcome>(&call.op)
      .Case<BitcastConvertOp>([&](auto) {
        return call.finish(bitcast(operands[0], call.resultType(), call.resultShape()));
      })
      .Case<BroadcastInDimOp>([&](BroadcastInDimOp op) {
        return call.finish(
            broadcastInDim(operands[0], call.resultShape(), op.getBroadcastDimensions()));
      })
      .Case<ConcatenateOp>([&](ConcatenateOp op) {
        return call.finish(concatenate(operands, static_cast<int64_t>(op.getDimension())));
      })
      .Case<DynamicSliceOp>([&](DynamicSliceOp op) {
        return call.finish(dynamicSlice(operands[0], operands.drop_front(), op.getSliceSizes()));
      })
      .Case<DynamicUpdateSliceOp>([&](auto) {
        return call.finish(dynamicUpdateSlice(operands[0], operands[1], operands.drop_front(2)));
      })
      .Case<IotaOp>([&](IotaOp op) {
        return call.finish(iota(call.resultType(), call.resultShape(),
                                static_cast<int64_t>(op.getIotaDimension())));
      })
      .Case<PadOp>([&](PadOp op) {
        return call.finish(pad(operands[0], operands[1], op.getEdgePaddingLow(),
                               op.getInteriorPadding(), call.resultShape()));
      })
      .Case<ReshapeOp>([&](auto) { return call.finish(operands[0].reshaped(call.resultShape())); })
      .Case<ReverseOp>(
          [&](ReverseOp op) { return call.finish(reverse(operands[0], op.getDimensions())); })
      .Case<SliceOp>([&](SliceOp op) {
        return call.finish(
            slice(operands[0], op.getStartIndices(), op.getStrides(), call.resultShape()));
      })
      .Case<TransposeOp>(
          [&](TransposeOp op) { return call.finish(transpose(operands[0], op.getPermutation())); })
      .Default(Outcome::Unknown);
}

} // namespace mlir::st::ref

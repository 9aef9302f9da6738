#include "passes/Import/ShardMap/ManualComputation.h"

#include "passes/Import/ShardMap/ShardBody.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::st;

FailureOr<DimensionAxes> mlir::st::readAxes(sdy::ManualComputationOp op,
                                            sdy::TensorShardingAttr sharding,
                                            ArrayRef<StringAttr> names, ArrayRef<unsigned> manual) {
  DimensionAxes result;
  for (StringAttr axis : sharding.getUnreduced()) {
    const auto *found = llvm::find(names, axis);
    auto number = static_cast<unsigned>(found - names.begin());
    if (found == names.end())
      return op.emitOpError("names axis ") << axis << ", which the mesh does not have";
    // The body sees the sum of a value that is unreduced over other axes.
    if (llvm::is_contained(manual, number))
      result.unreduced.push_back(number);
  }
  llvm::sort(result.unreduced);
  for (auto [dim, isOpen] : llvm::enumerate(sharding.getOpen()))
    if (isOpen)
      result.open.push_back(static_cast<int64_t>(dim));
  llvm::SmallDenseSet<unsigned> seen;
  for (ArrayAttr dim : sharding.getDims()) {
    SmallVector<unsigned> &split = result.split.emplace_back(), &free = result.free.emplace_back();
    for (auto axis : dim.getAsRange<StringAttr>()) {
      const auto *found = llvm::find(names, axis);
      if (found == names.end())
        return op.emitOpError("names axis ") << axis << ", which the mesh does not have";
      auto number = static_cast<unsigned>(found - names.begin());
      if (!seen.insert(number).second)
        return op.emitOpError("has a tensor that axis ") << axis << " splits twice";
      bool isManual = llvm::is_contained(manual, number);
      if (isManual && !free.empty())
        return op.emitOpError("splits a dimension by axis ")
               << axis << " inside of one that is not manual";
      (isManual ? split : free).push_back(number);
    }
  }
  return result;
}

LogicalResult mlir::st::checkParts(sdy::ManualComputationOp op, Type global, Type part,
                                   const DimensionAxes &axes, ArrayRef<int64_t> sizes) {
  auto shape = cast<RankedTensorType>(global).getShape();
  for (auto [size, own, split] :
       llvm::zip_equal(shape, cast<RankedTensorType>(part).getShape(), axes.split)) {
    int64_t parts = 1;
    for (unsigned axis : split)
      parts *= sizes[axis];
    if (own * parts != size)
      return op.emitOpError("has the global type ")
             << global << ", whose shards are not of type " << part;
  }
  return success();
}

/// Constrains a result to the sharding that the computation gives it. Propagation alone would not
/// shard what the body computes alike on all devices, for example a loop.
static Value constrainResult(OpBuilder &builder, Location loc, Value value,
                             sdy::TensorShardingAttr sharding, const DimensionAxes &axes) {
  if (sharding.getDims().empty())
    return value;
  MLIRContext *const context = builder.getContext();
  auto wanted = ShardingAttr::get(context, FlatSymbolRefAttr::get(context, "mesh"),
                                  sharding.getDims(), ReduceKind::Sum, {}, axes.open, {}, {});
  return ConstrainOp::create(builder, loc, value.getType(), value, wanted);
}

LogicalResult mlir::st::importManualComputation(sdy::ManualComputationOp op,
                                                ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes,
                                                UnreducedTerms &terms) {
  SmallVector<unsigned> manual;
  for (StringAttr axis : op.getManualAxes().getAxes()) {
    const auto *found = llvm::find(names, axis);
    if (found == names.end())
      return op.emitOpError("names axis ") << axis << ", which the mesh does not have";
    manual.push_back(static_cast<unsigned>(found - names.begin()));
  }
  llvm::sort(manual);
  OpBuilder builder(op);
  ShardBody body(builder, names, sizes, manual, &terms);
  for (auto [input, argument, sharding] : llvm::zip_equal(
           op.getInputs(), op.getBody().getArguments(), op.getInShardings().getShardings())) {
    FailureOr<DimensionAxes> axes = readAxes(op, sharding, names, manual);
    if (failed(axes) || failed(checkParts(op, input.getType(), argument.getType(), *axes, sizes)))
      return failure();
    FailureOr<Lifted> parts = body.enter(op.getLoc(), {input, {}}, *axes);
    if (failed(parts))
      return failure();
    body.map(argument, *parts);
  }
  Block &block = op.getBody().front();
  for (Operation &inner : block.without_terminator())
    if (failed(body.lift(&inner)))
      return failure();
  for (auto [result, local, sharding] :
       llvm::zip_equal(op.getResults(), block.getTerminator()->getOperands(),
                       op.getOutShardings().getShardings())) {
    FailureOr<DimensionAxes> axes = readAxes(op, sharding, names, manual);
    if (failed(axes) || failed(checkParts(op, result.getType(), local.getType(), *axes, sizes)))
      return failure();
    Lifted global = body.leave(op.getLoc(), body.lookup(local), *axes,
                               cast<RankedTensorType>(result.getType()), manual);
    result.replaceAllUsesWith(constrainResult(builder, op.getLoc(), global.value, sharding, *axes));
  }
  op.erase();
  return success();
}

// Control flow of a per-shard computation, which all shards enter together.
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Interfaces/Notes.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Import/ShardMap/ShardBody.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

/// Deeper nesting of calls and regions is refused.
static constexpr int64_t kDeepest = 64;

/// Lifts the ops of a block except the terminator, and returns its lifted operands.
FailureOr<SmallVector<Lifted>> ShardBody::liftBlock(Block &block) {
  if (++depth > kDeepest)
    return block.getParentOp()->emitOpError("nests too deep in a computation on shards");
  for (Operation &op : block.without_terminator())
    if (failed(lift(&op)))
      return failure();
  --depth;
  SmallVector<Lifted> results;
  for (Value operand : block.getTerminator()->getOperands())
    results.push_back(lookup(operand));
  return results;
}

LogicalResult ShardBody::liftCall(Operation *op) {
  auto call = cast<func::CallOp>(op);
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, call.getCalleeAttr());
  if (!callee || callee.isExternal() || !callee.getBody().hasOneBlock())
    return op->emitOpError("calls no function with a body of one block");
  // A function that is called twice has other arguments each time.
  for (auto [argument, operand] : llvm::zip_equal(callee.getArguments(), op->getOperands()))
    map(argument, lookup(operand));
  FailureOr<SmallVector<Lifted>> results = liftBlock(callee.getBody().front());
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), *results))
    map(result, value);
  return success();
}

/// A nested computation that sees further axes, as JAX writes it to query a position along an outer
/// axis: its values must not be split over them.
LogicalResult ShardBody::liftNested(sdy::ManualComputationOp op) {
  for (auto shardings : {op.getInShardings(), op.getOutShardings()})
    for (sdy::TensorShardingAttr sharding : shardings.getShardings())
      for (ArrayAttr dim : sharding.getDims())
        for (Attribute axis : dim)
          if (llvm::is_contained(op.getManualAxes().getAxes(), axis))
            return op.emitOpError("in a computation on shards splits its tensors further, by axis ")
                   << axis << ", which cannot be imported";
  Axes outer = manual;
  for (StringAttr axis : op.getManualAxes().getAxes()) {
    auto number = static_cast<unsigned>(llvm::find(names, axis) - names.begin());
    if (number == names.size() || llvm::is_contained(outer, number))
      return op.emitOpError("in a computation on shards sees axis ")
             << axis << ", which is none that the computation leaves";
    manual.push_back(number);
  }
  llvm::sort(manual);
  for (auto [argument, input] : llvm::zip_equal(op.getBody().getArguments(), op.getInputs()))
    map(argument, lookup(input));
  FailureOr<SmallVector<Lifted>> results = liftBlock(op.getBody().front());
  manual = outer;
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::zip_equal(op.getResults(), *results)) {
    for (unsigned axis : value.axes)
      if (!llvm::is_contained(manual, axis))
        return withNote(
            op.emitOpError("in a computation on shards gives a tensor that differs along axis ")
                << names[axis] << ", by which it is not split",
            value.value, "the tensor is made here");
    map(result, value);
  }
  return success();
}

/// A carried value may become different between shards only in the body: lifts the body until it
/// returns the shapes that it receives.
LogicalResult ShardBody::liftWhile(Operation *op) {
  auto loop = cast<hlo::WhileOp>(op);
  Location loc = op->getLoc();
  SmallVector<Axes> axes;
  for (Value operand : op->getOperands())
    axes.push_back(lookup(operand).axes);
  while (true) {
    SmallVector<Value> starts;
    SmallVector<Type> types;
    for (auto [operand, own] : llvm::zip_equal(op->getOperands(), axes)) {
      starts.push_back(spread(loc, lookup(operand), own));
      types.push_back(starts.back().getType());
    }
    OperationState state(loc, hlo::WhileOp::getOperationName(), starts, types);
    SmallVector<Axes> returned;
    for (Region *region : {&loop.getCond(), &loop.getBody()}) {
      OpBuilder::InsertionGuard guard(builder);
      SmallVector<Location> locations(types.size(), loc);
      Block *block = builder.createBlock(state.addRegion(), {}, types, locations);
      for (auto [from, to, own] :
           llvm::zip_equal(region->getArguments(), block->getArguments(), axes))
        map(from, {to, own});
      FailureOr<SmallVector<Lifted>> results = liftBlock(region->front());
      if (failed(results))
        return failure();
      bool isCondition = region == &loop.getCond();
      if (isCondition && !results->front().axes.empty())
        return withNote(
            op->emitOpError("in a computation on shards has a condition that differs between "
                            "shards, which cannot be imported"),
            results->front().value, "the condition is made here");
      SmallVector<Value> values;
      for (auto [i, result] : llvm::enumerate(*results)) {
        if (!isCondition)
          returned.push_back(unite(axes[i], result.axes));
        values.push_back(isCondition || returned[i] != axes[i] ? result.value
                                                               : spread(loc, result, axes[i]));
      }
      hlo::ReturnOp::create(builder, loc, values);
    }
    if (llvm::equal(returned, axes)) {
      Operation *made = builder.create(state);
      for (auto [i, result] : llvm::enumerate(op->getResults()))
        map(result, {made->getResult(i), axes[i]});
      return success();
    }
    axes = std::move(returned);
  }
}

/// if and case.
LogicalResult ShardBody::liftBranches(Operation *op) {
  Location loc = op->getLoc();
  Lifted choice = lookup(op->getOperand(0));
  if (!choice.axes.empty())
    return withNote(
        op->emitOpError("in a computation on shards makes a choice that differs between shards, "
                        "which cannot be imported"),
        op->getOperand(0), "the choice is made here");
  OperationState state(loc, op->getName().getStringRef(), choice.value, {});
  SmallVector<SmallVector<Lifted>> branches;
  SmallVector<Axes> axes(op->getNumResults());
  SmallVector<Block *> blocks;
  for (Region &region : op->getRegions()) {
    OpBuilder::InsertionGuard guard(builder);
    blocks.push_back(builder.createBlock(state.addRegion()));
    FailureOr<SmallVector<Lifted>> results = liftBlock(region.front());
    if (failed(results))
      return failure();
    for (auto [own, result] : llvm::zip_equal(axes, *results))
      own = unite(own, result.axes);
    branches.push_back(std::move(*results));
  }
  for (auto [block, results] : llvm::zip_equal(blocks, branches)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    SmallVector<Value> values;
    for (auto [own, result] : llvm::zip_equal(axes, results))
      values.push_back(spread(loc, result, own));
    hlo::ReturnOp::create(builder, loc, values);
  }
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    state.addTypes(lifted(result.getType(), axes[i]));
  Operation *made = builder.create(state);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    map(result, {made->getResult(i), axes[i]});
  return success();
}

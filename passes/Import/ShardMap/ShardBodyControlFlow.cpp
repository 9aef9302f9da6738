// Control flow of a per-shard computation, which all shards enter together.
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Import/ShardMap/ManualComputation.h"
#include "passes/Import/ShardMap/ShardBody.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

/// Maximum nesting of calls and regions; deeper nesting is an error.
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
  auto name =
      op->getAttrOfType<FlatSymbolRefAttr>(isa<func::CallOp>(op) ? "callee" : "decomposition");
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name);
  if (!callee || callee.isExternal() || !callee.getBody().hasOneBlock())
    return op->emitOpError("calls no function with a body of one block");
  // Each call of a function may have other arguments.
  for (auto [argument, operand] : llvm::zip_equal(callee.getArguments(), op->getOperands()))
    map(argument, lookup(operand));
  FailureOr<SmallVector<Lifted>> results = liftBlock(callee.getBody().front());
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), *results))
    map(result, value);
  return success();
}

/// A nested computation that is local over further axes: it gets shards of the shards.
LogicalResult ShardBody::liftNested(sdy::ManualComputationOp op) {
  Axes outer = manual, inner;
  for (StringAttr axis : op.getManualAxes().getAxes()) {
    auto number = static_cast<unsigned>(llvm::find(names, axis) - names.begin());
    if (number == names.size() || llvm::is_contained(outer, number))
      return op.emitOpError("in a computation on shards sees axis ")
             << axis << ", which is not a free axis of the computation";
    inner.push_back(number);
  }
  llvm::sort(inner);
  for (auto [argument, input, sharding] : llvm::zip_equal(
           op.getBody().getArguments(), op.getInputs(), op.getInShardings().getShardings())) {
    FailureOr<DimensionAxes> axes = readAxes(op, sharding, names, inner);
    if (failed(axes) || failed(checkParts(op, input.getType(), argument.getType(), *axes, sizes)))
      return failure();
    FailureOr<Lifted> parts = enter(op.getLoc(), lookup(input), *axes);
    if (failed(parts))
      return failure();
    map(argument, *parts);
  }
  manual = unite(outer, inner);
  FailureOr<SmallVector<Lifted>> results = liftBlock(op.getBody().front());
  manual = outer;
  if (failed(results))
    return failure();
  for (auto [result, value, sharding] :
       llvm::zip_equal(op.getResults(), *results, op.getOutShardings().getShardings())) {
    FailureOr<DimensionAxes> axes = readAxes(op, sharding, names, inner);
    if (failed(axes))
      return failure();
    map(result, leave(op.getLoc(), value, *axes, cast<RankedTensorType>(result.getType()), inner));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Loops and choices
//===----------------------------------------------------------------------===//

/// Selects one of two values by the predicate of each shard.
Lifted ShardBody::select(Location loc, const Lifted &predicate, const Lifted &a, const Lifted &b) {
  Axes axes = unite(predicate.axes, unite(a.axes, b.axes));
  Value first = spread(loc, a, axes), second = spread(loc, b, axes);
  Value chosen = spread(loc, predicate, axes);
  auto type = cast<RankedTensorType>(chosen.getType());
  chosen = hlo::BroadcastInDimOp::create(
      builder, loc, type.clone(cast<RankedTensorType>(first.getType()).getShape()), chosen,
      llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
  return {hlo::SelectOp::create(builder, loc, first.getType(), chosen, first, second), axes};
}

/// Emits a value that is true if a predicate holds for any shard.
Value ShardBody::anyOf(Location loc, const Lifted &predicate) {
  auto scalar = RankedTensorType::get({}, builder.getI1Type());
  Value none = hlo::ConstantOp::create(builder, loc, scalar, DenseElementsAttr::get(scalar, false));
  OperationState state(loc, hlo::ReduceOp::getOperationName(), {predicate.value, none}, {scalar});
  state.addAttribute("dimensions", builder.getDenseI64ArrayAttr(llvm::to_vector(
                                       llvm::seq<int64_t>(0, predicate.axes.size()))));
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(state.addRegion(), {}, {scalar, scalar}, {loc, loc});
    Value either =
        hlo::OrOp::create(builder, loc, scalar, block->getArgument(0), block->getArgument(1));
    hlo::ReturnOp::create(builder, loc, either);
  }
  return builder.create(state)->getResult(0);
}

/// The shards that take the branch of a guard.
Lifted ShardBody::isChosen(Location loc, const Guard &guard) {
  const Lifted &choice = guard.choice;
  auto type = cast<RankedTensorType>(choice.value.getType());
  Emitter emit(builder, builder.getInsertionBlock(), loc);
  if (type.getElementType().isInteger(1) && guard.branch == 0)
    return choice;
  if (type.getElementType().isInteger(1))
    return {hlo::NotOp::create(builder, loc, type, choice.value), choice.axes};
  auto isBranch = [&](hlo::ComparisonDirection direction, int64_t branch) {
    return emit.compare(direction, choice.value, emit.splat(type, static_cast<double>(branch)));
  };
  if (guard.branch < guard.branches - 1)
    return {isBranch(hlo::ComparisonDirection::EQ, guard.branch), choice.axes};
  // An index out of range selects the last branch.
  return {emit.bitOr(isBranch(hlo::ComparisonDirection::LT, 0),
                     isBranch(hlo::ComparisonDirection::GE, guard.branch)),
          choice.axes};
}

/// Emits which shards, of those along `axes`, enter all regions around the current op. Null if all
/// do.
Value ShardBody::takenBy(Location loc, const Axes &axes) {
  Value taken;
  for (const Guard &guard : guards) {
    Value chosen = spread(loc, isChosen(loc, guard), axes);
    Emitter emit(builder, builder.getInsertionBlock(), loc);
    taken = taken ? emit.bitAnd(taken, chosen) : chosen;
  }
  return taken;
}

/// Lifts a region of a loop whose arguments have these values, and returns its lifted results.
FailureOr<SmallVector<Lifted>> ShardBody::liftRegion(Region &region, ArrayRef<Lifted> arguments) {
  for (auto [argument, value] : llvm::zip_equal(region.getArguments(), arguments))
    map(argument, value);
  return liftBlock(region.front());
}

/// Emits the body of a loop whose trip counts differ. The last argument is a mask of the shards
/// that still run. Shards that have ended keep their values, and do not evaluate the condition
/// again.
LogicalResult ShardBody::liftUnevenTrip(hlo::WhileOp loop, ArrayRef<Lifted> arguments,
                                        LoopAxes &found) {
  Location loc = loop.getLoc();
  const Lifted runs = arguments.back();
  arguments = arguments.drop_back();
  guards.push_back({runs, 0, 2});
  FailureOr<SmallVector<Lifted>> nexts = liftRegion(loop.getBody(), arguments);
  if (failed(nexts))
    return failure();
  for (auto [next, argument] : llvm::zip_equal(*nexts, arguments))
    next = select(loc, runs, next, argument);
  FailureOr<SmallVector<Lifted>> condition = liftRegion(loop.getCond(), *nexts);
  guards.pop_back();
  if (failed(condition))
    return failure();
  const Lifted continues = condition->front();
  const Axes ends = unite(runs.axes, continues.axes);
  Value first = spread(loc, runs, ends), second = spread(loc, continues, ends);
  nexts->push_back(
      {Emitter(builder, builder.getInsertionBlock(), loc).bitAnd(first, second), ends});
  returnFromTrip(loc, *nexts, arguments, found);
  found.ends = ends;
  return success();
}

/// Ends a loop's body with values for the next trip, and records the axes along which they differ.
/// If the arguments do not differ along all of these axes, the loop is lifted again.
void ShardBody::returnFromTrip(Location loc, ArrayRef<Lifted> nexts, ArrayRef<Lifted> arguments,
                               LoopAxes &found) {
  SmallVector<Value> values;
  for (const Lifted &next : nexts)
    values.push_back(next.value);
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    found.carried[i] = unite(argument.axes, nexts[i].axes);
    if (found.carried[i] == argument.axes)
      values[i] = spread(loc, nexts[i], argument.axes);
  }
  hlo::ReturnOp::create(builder, loc, values);
}

/// Lifts a loop whose carried values differ along these axes, and returns those along which they
/// differ after a trip. If both are the same, the loop is complete.
FailureOr<ShardBody::LoopAxes> ShardBody::liftLoop(hlo::WhileOp loop, const LoopAxes &axes) {
  Location loc = loop.getLoc();
  LoopAxes found = axes;
  SmallVector<Lifted> values;
  for (auto [operand, own] : llvm::zip_equal(loop->getOperands(), axes.carried))
    values.push_back({spread(loc, lookup(operand), own), own});
  const bool isUneven = !axes.ends.empty();
  // The condition of the first trip, in front of the loop. Only a complete loop keeps it.
  Region front;
  if (isUneven) {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&front);
    FailureOr<SmallVector<Lifted>> condition = liftRegion(loop.getCond(), values);
    if (failed(condition))
      return failure();
    found.ends = unite(axes.ends, condition->front().axes);
    values.push_back({spread(loc, condition->front(), found.ends), found.ends});
  }
  OperationState state(loc, hlo::WhileOp::getOperationName());
  for (const Lifted &value : values) {
    state.addOperands(value.value);
    state.addTypes(value.value.getType());
  }
  for (bool isCondition : {true, false}) {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Location> locations(values.size(), loc);
    Block *block = builder.createBlock(state.addRegion(), {}, state.types, locations);
    SmallVector<Lifted> arguments;
    for (auto [argument, value] : llvm::zip_equal(block->getArguments(), values))
      arguments.push_back({argument, value.axes});
    if (isUneven && isCondition) {
      hlo::ReturnOp::create(builder, loc, anyOf(loc, arguments.back()));
      continue;
    }
    if (isUneven) {
      if (failed(liftUnevenTrip(loop, arguments, found)))
        return failure();
      continue;
    }
    FailureOr<SmallVector<Lifted>> results =
        liftRegion(isCondition ? loop.getCond() : loop.getBody(), arguments);
    if (failed(results))
      return failure();
    if (isCondition) {
      found.ends = results->front().axes;
      hlo::ReturnOp::create(builder, loc, results->front().value);
    } else {
      returnFromTrip(loc, *results, arguments, found);
    }
  }
  if (found != axes)
    return found;
  if (isUneven)
    builder.getInsertionBlock()->getOperations().splice(builder.getInsertionPoint(),
                                                        front.front().getOperations());
  Operation *created = builder.create(state);
  for (auto [i, result] : llvm::enumerate(loop->getResults()))
    map(result, {created->getResult(i), axes.carried[i]});
  return found;
}

/// A carried value may start to differ between shards in the body, so this lifts the loop until the
/// results of a trip have the shapes of its arguments. If shards have different trip counts, all
/// continue until the last one ends.
LogicalResult ShardBody::liftWhile(Operation *op) {
  LoopAxes axes;
  for (Value operand : op->getOperands())
    axes.carried.push_back(lookup(operand).axes);
  while (true) {
    FailureOr<LoopAxes> found = liftLoop(cast<hlo::WhileOp>(op), axes);
    if (failed(found))
      return failure();
    if (*found == axes)
      return success();
    axes = std::move(*found);
  }
}

/// if and case with different choices between shards: all shards compute all branches.
LogicalResult ShardBody::liftChoice(Operation *op, const Lifted &choice) {
  Location loc = op->getLoc();
  SmallVector<SmallVector<Lifted>> branches;
  for (auto [i, region] : llvm::enumerate(op->getRegions())) {
    guards.push_back({choice, static_cast<int64_t>(i), op->getNumRegions()});
    FailureOr<SmallVector<Lifted>> results = liftBlock(region.front());
    guards.pop_back();
    if (failed(results))
      return failure();
    branches.push_back(std::move(*results));
  }
  // An index out of range selects the last branch.
  SmallVector<Lifted> chosen = std::move(branches.back());
  for (size_t i = branches.size() - 1; i-- > 0;) {
    Lifted predicate = choice;
    if (isa<hlo::CaseOp>(op)) {
      auto type = cast<RankedTensorType>(choice.value.getType());
      Attribute number = IntegerAttr::get(type.getElementType(), static_cast<int64_t>(i));
      Value index =
          hlo::ConstantOp::create(builder, loc, type, DenseElementsAttr::get(type, number));
      Emitter emit(builder, builder.getInsertionBlock(), loc);
      predicate.value = emit.compare(hlo::ComparisonDirection::EQ, choice.value, index);
    }
    for (auto [value, other] : llvm::zip_equal(chosen, branches[i]))
      value = select(loc, predicate, other, value);
  }
  for (auto [result, value] : llvm::zip_equal(op->getResults(), chosen))
    map(result, value);
  return success();
}

/// if and case.
LogicalResult ShardBody::liftBranches(Operation *op) {
  Location loc = op->getLoc();
  Lifted choice = lookup(op->getOperand(0));
  if (!choice.axes.empty())
    return liftChoice(op, choice);
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
  Operation *created = builder.create(state);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    map(result, {created->getResult(i), axes[i]});
  return success();
}

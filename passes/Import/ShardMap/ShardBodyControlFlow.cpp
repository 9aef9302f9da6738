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

/// Shards that ended would evaluate the condition once more.
static LogicalResult checkCondition(hlo::WhileOp loop) {
  WalkResult walk = loop.getCond().walk([](hlo::CustomCallOp call) {
    return call.getHasSideEffect() ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!walk.wasInterrupted())
    return success();
  return loop.emitOpError("in a computation on shards has a call with side effects in its "
                          "condition, but trip counts differ between shards");
}

/// A carried value may start to differ between shards in the body, so this lifts the body until its
/// results have the shapes of its arguments. If shards have different trip counts, all continue
/// until the last one ends, and the shards that ended keep their values.
LogicalResult ShardBody::liftWhile(Operation *op) {
  auto loop = cast<hlo::WhileOp>(op);
  Location loc = op->getLoc();
  SmallVector<Axes> axes;
  Axes ends; // axes along which trip counts differ
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
      auto liftRegion = [&](Region &from) {
        for (auto [argument, to, own] :
             llvm::zip_equal(from.getArguments(), block->getArguments(), axes))
          map(argument, {to, own});
        return liftBlock(from.front());
      };
      bool isCondition = region == &loop.getCond();
      Lifted continues;
      if (!isCondition && !ends.empty()) {
        FailureOr<SmallVector<Lifted>> condition = liftRegion(loop.getCond());
        if (failed(condition))
          return failure();
        continues = condition->front();
      }
      if (continues.value)
        guards.push_back({continues, 0, 2});
      FailureOr<SmallVector<Lifted>> results = liftRegion(*region);
      if (continues.value)
        guards.pop_back();
      if (failed(results))
        return failure();
      SmallVector<Value> values;
      if (isCondition) {
        ends = results->front().axes;
        if (!ends.empty() && failed(checkCondition(loop)))
          return failure();
        values.push_back(ends.empty() ? results->front().value : anyOf(loc, results->front()));
      } else {
        for (auto [i, result] : llvm::enumerate(*results)) {
          Lifted next = result;
          if (!ends.empty())
            next = select(loc, continues, result, {block->getArgument(i), axes[i]});
          returned.push_back(unite(axes[i], next.axes));
          values.push_back(returned[i] == axes[i] ? spread(loc, next, axes[i]) : next.value);
        }
      }
      hlo::ReturnOp::create(builder, loc, values);
    }
    if (llvm::equal(returned, axes)) {
      Operation *created = builder.create(state);
      for (auto [i, result] : llvm::enumerate(op->getResults()))
        map(result, {created->getResult(i), axes[i]});
      return success();
    }
    axes = std::move(returned);
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

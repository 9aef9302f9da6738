#include "passes/Partition/Config/SeedConstraints.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Utils/Roles.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::st;

/// A constraint on a value, in the model block of `op`.
static Value constrain(OpBuilder &builder, Value value, const TensorSharding &sharding,
                       const MeshAxes &axes, Operation *op) {
  auto constraint =
      ConstrainOp::create(builder, value.getLoc(), value.getType(), value, axes.write(sharding));
  if (Attribute block = op->getDiscardableAttr("st.block"))
    constraint->setDiscardableAttr("st.block", block);
  return constraint;
}

//===----------------------------------------------------------------------===//
// Sums of the forward pass
//===----------------------------------------------------------------------===//

size_t mlir::st::scatterSums(const LayerFlow::Sums &sums, const MeshAxes &axes, Axis axis) {
  size_t count = 0;
  for (auto [value, rows] : sums) {
    if (!rows.isSplitOver(axis))
      continue;
    Operation *op = value.getDefiningOp();
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Value scattered = constrain(builder, value, rows, axes, op);
    value.replaceAllUsesExcept(scattered, scattered.getDefiningOp());
    ++count;
  }
  return count;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Inserts one constraint before the first of some uses of a value.
static void constrainUses(OpBuilder &builder, Value value, ArrayRef<OpOperand *> uses,
                          const TensorSharding &sharding, const MeshAxes &axes) {
  if (uses.empty())
    return;
  Operation *first = uses[0]->getOwner();
  for (OpOperand *use : uses.drop_front())
    if (use->getOwner()->isBeforeInBlock(first))
      first = use->getOwner();
  builder.setInsertionPoint(first);
  Value constrained = constrain(builder, value, sharding, axes, first);
  for (OpOperand *use : uses)
    use->set(constrained);
}

void mlir::st::gatherParameters(func::FuncOp function, const Updates &updates, const MeshAxes &axes,
                                function_ref<SmallVector<Axis>(BlockArgument)> gathered) {
  DenseSet<Operation *> forward;
  for (Operation *op : forwardOps(function))
    forward.insert(op);
  bool isAmortised = axes.size(kMicroAxis) > 1;
  OpBuilder builder(function.getContext());
  for (BlockArgument argument : function.getArguments()) {
    if (getRole(argument) != "parameter" || !isa<RankedTensorType>(argument.getType()))
      continue;
    TensorSharding sharding = axes.read(Value(argument)), stored = sharding;
    for (Axis axis : gathered(argument))
      for (Splits &splits : sharding.dims)
        eraseAxis(splits, axis);
    if (sharding == stored)
      continue;
    // The shards are converted to the narrower type, and the copy is gathered instead.
    SmallVector<Value> values = {argument};
    while (!values.empty()) {
      Value value = values.pop_back_val();
      SmallVector<OpOperand *> uses[2]; // of the forward pass, and of the backward pass
      for (OpOperand &use : value.getUses()) {
        Operation *user = use.getOwner();
        if (updates.ops.contains(user) || updates.reductions.contains(user) ||
            user->hasTrait<OpTrait::IsTerminator>())
          continue;
        if (isNarrowing(user))
          values.push_back(user->getResult(0));
        else
          uses[isAmortised || forward.contains(user) ? 0 : 1].push_back(&use);
      }
      for (ArrayRef<OpOperand *> ofPass : uses)
        constrainUses(builder, value, ofPass, sharding, axes);
    }
  }
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The gradients. A sum of several (a weight that is used twice) counts as one gradient, unless
/// they come from several stages: values sent between stages are accumulated first.
static llvm::MapVector<Value, BlockArgument> joinSums(func::FuncOp function,
                                                      const Updates &updates) {
  llvm::MapVector<Value, BlockArgument> joined = updates.gradients;
  auto stages = function->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>("st.stages");
  if (stages && stages.getInt() > 1)
    return joined;
  for (Operation &op : function.front()) {
    auto add = dyn_cast<stablehlo::AddOp>(op);
    if (!add || !updates.ops.contains(add) || !joined.contains(add.getLhs()) ||
        !joined.contains(add.getRhs()))
      continue;
    BlockArgument state = joined.lookup(add.getLhs());
    for (Value part : {add.getLhs(), add.getRhs()})
      if (part.hasOneUse())
        joined.erase(part);
    joined.insert({add.getResult(), state});
  }
  return joined;
}

void mlir::st::scatterGradients(func::FuncOp function, const Updates &updates, const MeshAxes &axes,
                                ArrayRef<Axis> replicas,
                                function_ref<TensorSharding(BlockArgument)> updateOf) {
  OpBuilder builder(function.getContext());
  for (auto [gradient, state] : joinSums(function, updates)) {
    TensorSharding sharding = updateOf(state);
    Operation *op = gradient.getDefiningOp();
    bool isSplit = llvm::any_of(replicas, [&](Axis axis) { return sharding.isSplitOver(axis); });
    if (!op || !isSplit ||
        cast<RankedTensorType>(gradient.getType()).getShape() !=
            cast<RankedTensorType>(state.getType()).getShape())
      continue;
    if (axes.size(kMicroAxis) > 1)
      sharding.addUnreduced(kMicroAxis);
    builder.setInsertionPointAfter(op);
    Value scattered = constrain(builder, gradient, sharding, axes, op);
    gradient.replaceAllUsesExcept(scattered, scattered.getDefiningOp());
  }
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

DenseMap<StringAttr, BlockArgument>
mlir::st::findStatesInShape(func::FuncOp function,
                            const DenseMap<StringAttr, RankedTensorType> &parameters) {
  DenseMap<StringAttr, BlockArgument> states;
  for (BlockArgument argument : function.getArguments()) {
    auto of = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kOfAttr);
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    RankedTensorType parameter = of ? parameters.lookup(of) : RankedTensorType();
    if (parameter && type && parameter.getShape() == type.getShape())
      states.try_emplace(of, argument);
  }
  return states;
}

bool mlir::st::splitFurther(TensorSharding &sharding, ArrayRef<int64_t> shape, ArrayRef<Axis> free,
                            const MeshAxes &axes) {
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t outer = 1; // after all parts, including unsplit ones
    for (const Split &split : sharding.dims[dim])
      outer *= split.size;
    if (size == 0 || size % (outer * axes.size(free)) != 0)
      continue;
    for (Axis axis : free) {
      sharding.dims[dim] = *unite(sharding.dims[dim], splitAt(axis, axes.size(axis), outer));
      outer *= axes.size(axis);
    }
    return true;
  }
  return false;
}

ShardingAttr mlir::st::fitSeed(BlockArgument state, ShardingAttr seed, RankedTensorType parameter,
                               const MeshAxes &axes) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(state.getType()).getShape();
  if (parameter.getShape() == shape)
    return seed;
  TensorSharding sharding = axes.read(seed);
  SmallVector<Axis> displaced;
  for (auto [splits, size] : llvm::zip_equal(sharding.dims, shape)) {
    if (size % shardCount(splits) == 0)
      continue;
    for (const Split &split : splits)
      if (split.axis != kUnsplit)
        displaced.push_back(split.axis);
    splits.clear();
  }
  if (!displaced.empty())
    splitFurther(sharding, shape, displaced, axes);
  return axes.write(sharding);
}

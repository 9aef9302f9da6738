// Rewrites computations on one shard as computations on global tensors.
#pragma once

#include "dialects/Sdy/SdyDialect.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Import/ShardMap/ManualComputation.h"

namespace mlir::st {

/// A tensor with the values of all shards. It has one leading dimension for each mesh axis along
/// which shards differ, in mesh order, then the dimensions of the local value.
struct Lifted {
  Value value;
  SmallVector<unsigned, 2> axes;
};

/// Reads the ops of a per-shard body, and builds ops on all shards at once. A collective along an
/// axis becomes an op along the axis' dimension, which partitioning turns into a collective again.
/// Device numbers in ops are positions in the mesh.
class ShardBody {
public:
  /// `sizes` are those of all mesh axes; `manual` are the axes over which the body is local.
  /// `terms` has the terms of unreduced values that enter, and receives those of values that leave.
  ShardBody(OpBuilder &builder, ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes,
            ArrayRef<unsigned> manual, UnreducedTerms *terms = nullptr)
      : builder(builder), names(names), sizes(sizes), manual(manual.begin(), manual.end()),
        terms(terms) {}

  /// The shards of a global tensor. `split` has the axes that shard each dimension, major to minor;
  /// `free` has the axes of each dimension that the body does not see, `open` the dimensions that
  /// such axes may shard.
  Lifted enter(Location loc, const Lifted &global, ArrayRef<SmallVector<unsigned>> split,
               ArrayRef<SmallVector<unsigned>> free, ArrayRef<int64_t> open = {});

  /// The global tensor of type `type` that the shards form along the axes `inner`. It keeps the
  /// leading dimensions of other axes.
  Lifted leave(Location loc, const Lifted &parts, ArrayRef<SmallVector<unsigned>> split,
               RankedTensorType type, ArrayRef<unsigned> inner);

  /// The same for values that may be unreduced. If their terms are not known, these are the value
  /// and zeros. Fails with a diagnostic for a complex one.
  FailureOr<Lifted> enter(Location loc, const Lifted &global, const DimensionAxes &axes);
  Lifted leave(Location loc, const Lifted &parts, const DimensionAxes &axes, RankedTensorType type,
               ArrayRef<unsigned> inner);

  void map(Value local, Lifted lifted) { values[local] = std::move(lifted); }
  /// The lifted form of a local value. A value from outside is equal on all shards.
  Lifted lookup(Value local) const;

  /// Builds the lifted form of an op. Fails with a diagnostic at the op.
  LogicalResult lift(Operation *op);

private:
  using Axes = SmallVector<unsigned, 2>;

  // Shapes.
  Axes unite(const Axes &a, const Axes &b) const;
  Axes axesOf(ValueRange locals) const;
  SmallVector<int64_t> lead(const Axes &axes) const;
  SmallVector<StringAttr> namesOf(const Axes &axes) const;
  RankedTensorType lifted(Type local, const Axes &axes) const;
  Value spread(Location loc, const Lifted &value, const Axes &axes);
  /// The same for a collective: each device contributes its own copy.
  Value spreadCopies(Location loc, const Lifted &value, const Axes &axes);
  Value transpose(Location loc, Value value, ArrayRef<int64_t> order);
  Value reshape(Location loc, Value value, ArrayRef<int64_t> shape);
  void constrain(Location loc, Lifted &value, ArrayRef<SmallVector<unsigned>> dims = {},
                 ArrayRef<int64_t> open = {});

  // Ops without communication.
  LogicalResult liftConstraint(sdy::ShardingConstraintOp op);
  LogicalResult liftUniform(Operation *op, const Axes &axes);
  LogicalResult liftScalarOperands(Operation *op, const Axes &axes);
  LogicalResult liftShape(Operation *op, const Axes &axes);
  LogicalResult liftIndexing(Operation *op, const Axes &axes);
  LogicalResult liftReduction(Operation *op, const Axes &axes);
  LogicalResult liftDot(Operation *op, const Axes &axes);
  LogicalResult liftDynamicSlice(Operation *op, const Axes &axes);
  LogicalResult liftDynamicUpdate(Operation *op, const Axes &axes);
  LogicalResult liftConvolution(Operation *op, const Axes &axes);
  LogicalResult liftEach(Operation *op, const Axes &axes);
  SmallVector<Value> liftGuarded(Operation *op, ValueRange operands, Value isTaken);
  LogicalResult rebuild(Operation *op, const Axes &axes, ValueRange operands,
                        ArrayRef<NamedAttribute> changed);

  // Control flow. A shard takes the branch that `choice` (a boolean or an index) selects.
  struct Guard {
    Lifted choice;
    int64_t branch, branches;
  };
  Value takenBy(Location loc, const Axes &axes);
  Lifted isChosen(Location loc, const Guard &guard);
  LogicalResult liftWhile(Operation *op);
  /// The axes along which the carried values of a loop, and its trip counts, differ.
  struct LoopAxes {
    SmallVector<Axes> carried;
    Axes ends;

    bool operator==(const LoopAxes &other) const {
      return carried == other.carried && ends == other.ends;
    }
    bool operator!=(const LoopAxes &other) const { return !(*this == other); }
  };
  FailureOr<LoopAxes> liftLoop(stablehlo::WhileOp loop, const LoopAxes &axes);
  LogicalResult liftUnevenTrip(stablehlo::WhileOp loop, ArrayRef<Lifted> arguments,
                               LoopAxes &found);
  void returnFromTrip(Location loc, ArrayRef<Lifted> nexts, ArrayRef<Lifted> arguments,
                      LoopAxes &found);
  FailureOr<SmallVector<Lifted>> liftRegion(Region &region, ArrayRef<Lifted> arguments);
  LogicalResult liftBranches(Operation *op);
  LogicalResult liftChoice(Operation *op, const Lifted &choice);
  Lifted select(Location loc, const Lifted &predicate, const Lifted &a, const Lifted &b);
  Value anyOf(Location loc, const Lifted &predicate);
  LogicalResult liftCall(Operation *op);
  LogicalResult liftNested(sdy::ManualComputationOp op);
  FailureOr<SmallVector<Lifted>> liftBlock(Block &block);

  // Collectives.
  LogicalResult liftCollective(Operation *op);
  LogicalResult liftReducing(Operation *op);
  LogicalResult liftGather(Operation *op);
  LogicalResult liftExchange(Operation *op);
  LogicalResult liftPermute(Operation *op);
  LogicalResult liftBroadcast(Operation *op);
  LogicalResult liftMoves(Operation *op, ArrayRef<int64_t> sources);
  LogicalResult liftPartitionId(Operation *op);
  bool liftAxisIndex(Operation *op);
  int64_t numDevices() const;
  /// The stride of an axis in device numbers.
  int64_t strideOf(unsigned axis) const;
  LogicalResult checkDevice(Operation *op, int64_t device) const;
  LogicalResult liftRegrouped(Operation *op, DenseIntElementsAttr groups);
  Value regroup(Location loc, Value value, ArrayRef<int64_t> members, ArrayRef<int64_t> before,
                ArrayRef<int64_t> after);
  std::optional<Axes> findAxesOfGroups(DenseIntElementsAttr groups) const;
  FailureOr<Axes> axesOfGroups(Operation *op, DenseIntElementsAttr groups) const;
  FailureOr<Lifted> reduceOver(Operation *op, Region &reducer, const Lifted &value,
                               const Axes &over);

  OpBuilder &builder;
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  Axes manual;
  DenseMap<Value, Lifted> values;
  UnreducedTerms *terms;
  /// The branches and loops around the current op that only some of the shards enter.
  SmallVector<Guard> guards;
  int64_t depth = 0;
  /// For a collective whose groups do not follow mesh axes: an additional axis for the members of a
  /// group, and the number of devices of the mesh.
  std::optional<unsigned> groupAxis;
  std::optional<int64_t> meshDevices;
};

} // namespace mlir::st

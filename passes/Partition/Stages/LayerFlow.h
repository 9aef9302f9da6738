// Which way features and the sequence go through the layers of a model.
#pragma once

#include "dialects/St/Sharding/OpSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::st {

/// What the loss depends on, in program order; everything where there is none.
SmallVector<Operation *> forwardOps(func::FuncOp function);

/// Follows the forward pass op by op, by the ops' factor rules, and decides on the way how weights
/// are cut so that layers pair as in Megatron-LM (Shoeybi et al., 2019, arXiv:1909.08053):
///
/// - a weight whose product contracts features that are split is cut along the contracted
/// dimension:
///   the product leaves partial sums;
/// - any other weight of a product is cut along its output dimension: features come out split.
/// Where
///   later ops take blocks of them (queries, keys and values made by one product), each block is;
/// - a table that a gather looks rows up in is cut along its rows;
/// - anything else (a bias, a norm's weight) is cut where it meets split features, else whole.
///
/// A parameter's first use decides.
class LayerFlow {
public:
  /// The function has its mesh, and batch arguments their shardings. `axis` is that of the shards.
  LayerFlow(func::FuncOp function, const MeshAxes &axes, Axis axis);

  /// Says how a parameter is cut, in place of the rules above.
  void give(BlockArgument parameter, const TensorSharding &sharding) {
    features[parameter] = sharding;
  }
  void run();

  /// How a parameter is cut over the axis; whole where no product of the forward pass uses it.
  TensorSharding seedOf(BlockArgument parameter) const;
  /// Parameters whole because the dimension that they would be cut along has fewer elements than
  /// the axis has positions.
  ArrayRef<BlockArgument> tooSmallToCut() const { return tooSmall; }

  /// The products and lookups that leave partial sums over the axis, sums of several of them being
  /// one, with the sharding of their rows: the batch as the arguments are, and the sequence, which
  /// is the second dimension of batch arguments, over the axis.
  using Sums = llvm::MapVector<Value, TensorSharding>;
  const Sums &sums() const { return partial; }

private:
  /// A tensor that holds a parameter's elements, and the dimension of it that each of the
  /// parameter's became; -1 where it is none.
  struct Trace {
    BlockArgument parameter;
    SmallVector<int64_t> dims;
  };
  using Flow = DenseMap<Value, TensorSharding>;

  void startRows();
  SmallVector<Splits, 4> factorsOf(Operation *op, const ShardingRule &rule, const Flow &flow) const;
  void flowThrough(Operation *op, const ShardingRule &rule, Flow &flow) const;
  void visit(Operation *op);
  void decide(OpOperand &use, const ShardingRule &rule);
  std::optional<int64_t> dimensionToCut(OpOperand &use, const Trace &trace,
                                        const ShardingRule &rule, const Splits *met,
                                        int64_t metFactor) const;
  bool leavesSum(Operation *op, const ShardingRule &rule) const;
  void noteSum(Operation *op, const ShardingRule &rule);
  bool meetsWhole(Operation *op) const;

  Splits splitOf(OpOperand &use, const ShardingRule &rule, int64_t factor) const;

  func::FuncOp function;
  const MeshAxes &axes;
  Axis axis;
  DenseSet<Operation *> forward;
  /// The shardings of values over the axis as features, and as rows.
  Flow features, rows;
  DenseMap<Value, Trace> traces;
  Sums partial;
  /// What products make, and what is made of it.
  DenseSet<Value> activations;
  SmallVector<BlockArgument> tooSmall;
};

} // namespace mlir::st

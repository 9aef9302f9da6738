// Decides the sharding of features and of the sequence through the layers of a model.
#pragma once

#include "dialects/St/Sharding/OpSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::st {

/// The ops on which the loss depends, in program order; all ops if there is no loss.
SmallVector<Operation *> forwardOps(func::FuncOp function);

/// Follows the forward pass op by op, by the ops' factor rules, and decides how weights are sharded
/// so that layers pair as in Megatron-LM (Shoeybi et al., 2019, arXiv:1909.08053):
///
/// - a weight whose product contracts split features is sharded along the contracted dimension: the
///   product leaves partial sums;
/// - any other weight of a product is sharded along its output dimension: features become split. If
///   later ops take blocks of them (queries, keys and values from one product), each block is
///   split;
/// - a table read by a gather is sharded along its rows;
/// - anything else (a bias, a norm's weight) is sharded if it meets split features, else
///   replicated.
///
/// A parameter's first use decides.
class LayerFlow {
public:
  /// The function has its mesh, and batch arguments have their shardings. `axis` is the shards'
  /// axis.
  LayerFlow(func::FuncOp function, const MeshAxes &axes, Axis axis);

  /// Sets the sharding of a parameter, overriding the rules above.
  void give(BlockArgument parameter, const TensorSharding &sharding) {
    features[parameter] = sharding;
  }
  void run();

  /// The sharding of a parameter over the axis; replicated if no product of the forward pass uses
  /// it.
  TensorSharding seedOf(BlockArgument parameter) const;
  /// Parameters that are replicated because the dimension to split has fewer elements than the axis
  /// has positions.
  ArrayRef<BlockArgument> tooSmallToSplit() const { return tooSmall; }

  /// The products and lookups that leave partial sums over the axis (a sum of several counts as
  /// one), with the sharding of their rows: the batch as in the arguments, and the sequence, the
  /// second dimension of batch arguments, over the axis.
  using Sums = llvm::MapVector<Value, TensorSharding>;
  const Sums &sums() const { return partial; }

private:
  /// A tensor that holds a parameter's elements, and the dimension that each of the parameter's
  /// dimensions became; -1 if none.
  struct Trace {
    BlockArgument parameter;
    SmallVector<int64_t> dims;
  };
  using Flow = DenseMap<Value, TensorSharding>;
  using Fits = bool (*)(ArrayRef<int64_t>, const TensorSharding &);

  void startRows();
  SmallVector<Splits, 4> factorsOf(Operation *op, const ShardingRule &rule, const Flow &flow) const;
  void flowThrough(Operation *op, const ShardingRule &rule, Flow &flow, Fits fitsResult) const;
  void visit(Operation *op);
  void decide(OpOperand &use, const ShardingRule &rule);
  std::optional<int64_t> dimensionToSplit(OpOperand &use, const Trace &trace,
                                          const ShardingRule &rule, const Splits *met,
                                          int64_t metFactor) const;
  bool leavesSum(Operation *op, const ShardingRule &rule) const;
  void noteSum(Operation *op, const ShardingRule &rule);
  bool meetsUnsharded(Operation *op) const;

  Splits splitOf(OpOperand &use, const ShardingRule &rule, int64_t factor) const;

  func::FuncOp function;
  const MeshAxes &axes;
  Axis axis;
  DenseSet<Operation *> forward;
  /// The sharding of values over the axis, as features and as rows.
  Flow features, rows;
  DenseMap<Value, Trace> traces;
  Sums partial;
  /// Results of products, and values computed from them.
  DenseSet<Value> activations;
  SmallVector<BlockArgument> tooSmall;
};

} // namespace mlir::st

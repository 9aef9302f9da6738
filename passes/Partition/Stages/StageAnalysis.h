// Who owns an op: the stages in which each op of a step is computed.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::st {

using StageSet = llvm::SmallBitVector;

class StageAnalysis {
public:
  /// `groups` says for each stage which device group runs it.
  StageAnalysis(func::FuncOp function, ArrayRef<int64_t> groups, const MeshAxes &axes);

  /// What is wrong with where the module's `st.stage_starts` say that stages begin; empty: nothing.
  StringRef getFault() const { return fault; }
  /// The stages that compute an op: several for what is cloned. None for an op whose
  /// results nobody uses.
  const StageSet &stagesOf(Operation *op) const { return opStages.find(op)->second; }
  /// The stages in which an argument appears: of those of one group that use it, the first.
  StageSet homesOf(BlockArgument argument) const;
  /// The home of an argument that a stage uses: its group's, or the first.
  int64_t homeFor(BlockArgument argument, int64_t stage) const;
  /// The stages in which a result appears.
  StageSet stagesOfResult(unsigned result) const;

private:
  void markStateful();
  void markForward();
  void cutForward();
  SmallVector<int64_t> cutAtStarts(ArrayRef<Operation *> ops, ArrayAttr starts);
  void placeParameters();
  void placeUpdates();
  void placeBackward();
  void sinkBackward();
  int64_t backwardStage(Operation *op) const;
  std::optional<int64_t> updateStage(Operation *op) const;
  void placeCloned();
  void placeArguments();

  bool isOfParameters(Operation *op) const;

  /// The stages that use an argument.
  const StageSet &usesOf(BlockArgument argument) const {
    return argumentStages.find(argument)->second;
  }
  StageSet only(int64_t stage) const;
  bool isStateful(Value value) const { return stateful.contains(value); }
  bool isForward(Value value) const;
  /// The stages in which the forward pass has a value or parameter.
  StageSet available(Value value) const;
  int64_t lowestStage(Value value) const;
  StringRef roleOf(BlockArgument argument) const;

  mutable func::FuncOp function;
  const MeshAxes &axes;
  SmallVector<int64_t> groups; ///< one a stage
  int64_t stages;
  std::string fault;
  Operation *terminator;
  DenseMap<Operation *, StageSet> opStages;
  DenseMap<Value, StageSet> argumentStages;
  /// Values that depend on parameters or optimizer state.
  DenseSet<Value> stateful;
  DenseSet<Operation *> forward;
  /// Ops of the forward pass that make something of parameters and constants alone.
  llvm::SetVector<Operation *> ofParameters;
  /// Result -> the argument that it replaces.
  DenseMap<unsigned, BlockArgument> donors;
};

} // namespace mlir::st

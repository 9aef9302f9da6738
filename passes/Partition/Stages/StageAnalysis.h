// Finds the stages in which each op of a step is computed.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::st {

using StageSet = llvm::SmallBitVector;

class StageAnalysis {
public:
  /// `groups` is the device group of each stage.
  StageAnalysis(func::FuncOp function, ArrayRef<int64_t> groups, const MeshAxes &axes);

  /// The fault of the module's `st.stage_starts`; empty if there is none.
  StringRef getFault() const { return fault; }
  /// The stages that compute an op: several for a cloned op, none for an op without users.
  const StageSet &stagesOf(Operation *op) const { return opStages.find(op)->second; }
  /// The stages in which an argument appears: per group, the first stage that uses it.
  StageSet homesOf(BlockArgument argument) const;
  /// The stage that holds an argument for a stage that uses it: one of the same group, or else the
  /// first.
  int64_t homeFor(BlockArgument argument, int64_t stage) const;
  /// The stages in which a result appears.
  StageSet stagesOfResult(unsigned result) const;

private:
  void markStateful();
  void markForward();
  void splitForward();
  SmallVector<int64_t> splitAtStarts(ArrayRef<Operation *> ops, ArrayAttr starts);
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

  mutable func::FuncOp function;
  const MeshAxes &axes;
  SmallVector<int64_t> groups; ///< per stage
  int64_t stages;
  std::string fault;
  Operation *terminator;
  DenseMap<Operation *, StageSet> opStages;
  DenseMap<Value, StageSet> argumentStages;
  /// Values that depend on parameters or optimizer state.
  DenseSet<Value> stateful;
  DenseSet<Operation *> forward;
  /// Forward ops that compute from parameters and constants alone.
  llvm::SetVector<Operation *> ofParameters;
  /// Result -> the argument that it replaces.
  DenseMap<unsigned, BlockArgument> donors;
};

} // namespace mlir::st

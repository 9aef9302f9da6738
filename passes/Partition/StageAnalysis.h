// Who owns an op: the stages in which each op of a step is computed.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::st {

using StageSet = llvm::SmallBitVector;

class StageAnalysis {
public:
  StageAnalysis(func::FuncOp function, int64_t stages);

  /// The stages that compute an op: several for what is cloned. None for an op whose
  /// results nobody uses.
  const StageSet &stagesOf(Operation *op) const { return opStages.find(op)->second; }
  /// The stages in which an argument appears.
  const StageSet &stagesOf(BlockArgument argument) const {
    return argumentStages.find(argument)->second;
  }
  /// The stages in which a result appears.
  StageSet stagesOfResult(unsigned result) const;

private:
  void markStateful();
  void markForward();
  void cutForward();
  void placeParameters();
  void placeUpdates();
  void placeBackward();
  void sinkBackward();
  int64_t backwardStage(Operation *op) const;
  std::optional<int64_t> updateStage(Operation *op) const;
  void placeCloned();
  void placeArguments();

  bool isOfParameters(Operation *op) const;

  StageSet only(int64_t stage) const;
  bool isStateful(Value value) const { return stateful.contains(value); }
  bool isForward(Value value) const;
  /// The stages in which the forward pass has a value or parameter.
  StageSet available(Value value) const;
  int64_t lowestStage(Value value) const;
  StringRef roleOf(BlockArgument argument) const;

  mutable func::FuncOp function;
  int64_t stages;
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

// What each task of one stage computes, reads from storage, makes again and hands on.
#pragma once

#include "passes/Pipeline/TaskAnalysis.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::st {

/// One entry of a task's body, in program order.
struct TaskItem {
  enum Kind {
    Compute,    ///< the op itself; of a transfer, its receiving half
    Send,       ///< a transfer's sending half
    Accumulate, ///< the write of what an st.accumulate adds up
    Result,     ///< the write of a result of the function
  };
  Kind kind;
  Operation *op; ///< of a result, the function's terminator
  unsigned resultNumber = 0;

  /// What the entry reads.
  OperandRange getOperands() const;
};

struct TaskPlan {
  Phase phase = Phase::Prologue;
  SmallVector<TaskItem> items;
  DenseSet<Operation *> live;  ///< compute entries that something needs
  DenseSet<Value> fromBuffers; ///< values of earlier tasks that this one reads from a buffer
};

/// The tasks of one stage and the values that pass between them through buffers.
class StagePlan {
public:
  StagePlan(const TaskAnalysis &analysis, int64_t stage);

  int64_t getStage() const { return stage; }
  TaskPlan &getTask(Phase phase) { return tasks[static_cast<unsigned>(phase)]; }
  const llvm::SetVector<Value> &getBuffered() const { return buffered; }
  /// Accumulations of this stage, in program order.
  ArrayRef<AccumulateOp> getAccumulations() const { return accumulations; }
  int64_t getNumRecomputed() const { return numRecomputed; }

private:
  /// How values of earlier tasks are used in a task.
  using Externals = llvm::MapVector<Value, bool>;

  void collect();
  void addTransfer(TransferOp op);
  void addResults();
  void plan(TaskPlan &task);
  Externals markLive(TaskPlan &task);
  void decide(TaskPlan &task, Value value, bool needsMemory);
  bool isAtHand(const TaskPlan &task, Value value) const;
  SmallVector<Value> getSources(const TaskPlan &task, Value value) const;

  const TaskAnalysis &analysis;
  int64_t stage;
  TaskPlan tasks[kNumPhases];
  llvm::SetVector<Value> buffered;
  SmallVector<AccumulateOp> accumulations;
  int64_t numRecomputed = 0;
};

} // namespace mlir::st

// The values that each task of one group computes, reads from storage, recomputes and stores for
// later tasks.
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

  /// The values that the entry reads.
  OperandRange getOperands() const;
};

struct TaskPlan {
  Phase phase = Phase::Prologue;
  int64_t stage = 0; ///< of a task once a step, which is for all stages of the group: the first
  SmallVector<TaskItem> items;
  DenseSet<Operation *> live;  ///< compute entries that something needs
  DenseSet<Value> fromBuffers; ///< values of earlier tasks that this one reads from a buffer
};

/// The tasks of one group and the values that pass between them through buffers.
class GroupPlan {
public:
  GroupPlan(const TaskAnalysis &analysis, int64_t group);

  int64_t getGroup() const { return group; }
  ArrayRef<int64_t> getStages() const { return stages; }
  bool hasStage(int64_t stage) const { return llvm::is_contained(stages, stage); }
  /// In an order in which they may run: phases in which gradients flow visit the stages in reverse.
  MutableArrayRef<TaskPlan> getTasks() { return tasks; }
  /// Returns true if a task computes a value rather than reads the result of an earlier task.
  bool isComputedIn(const TaskPlan &task, Value value) const;
  const llvm::SetVector<Value> &getBuffered() const { return buffered; }
  /// Accumulations of the group, in program order.
  ArrayRef<AccumulateOp> getAccumulations() const { return accumulations; }
  int64_t getNumRecomputed() const { return numRecomputed; }

private:
  /// The uses of values of earlier tasks in a task.
  using Externals = llvm::MapVector<Value, bool>;

  TaskPlan &getTask(Phase phase, int64_t stage);
  void makeTasks();
  void collect();
  void addTransfer(TransferOp op);
  void addResults();
  void plan(TaskPlan &task);
  Externals markLive(TaskPlan &task);
  void decide(TaskPlan &task, Value value, bool needsMemory);
  bool isAtHand(const TaskPlan &task, Value value) const;
  SmallVector<Value> getSources(const TaskPlan &task, Value value) const;

  const TaskAnalysis &analysis;
  int64_t group;
  SmallVector<int64_t> stages;
  SmallVector<TaskPlan> tasks;
  llvm::SetVector<Value> buffered;
  SmallVector<AccumulateOp> accumulations;
  int64_t numRecomputed = 0;
};

} // namespace mlir::st

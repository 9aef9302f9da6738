// Where the values of one task lie.
#pragma once

#include "passes/Memory/Arena.h"

namespace mlir::st {

class TaskMemory {
public:
  /// Decides which values are made in storage, and the lifetimes of the others. Fails with a
  /// diagnostic if a write would destroy a value that is still read.
  static FailureOr<TaskMemory> compute(TaskOp task, StorageLayout &layout);

  /// Places the values that storage does not hold; returns the bytes they take.
  int64_t place(int64_t alignment) { return placeIntervals(intervals, alignment); }
  /// Writes the addresses; the task's own area begins at `areaStart`.
  void annotate(int64_t areaStart);
  int64_t getNumInPlace() const { return numInPlace; }

private:
  TaskMemory(TaskOp task, StorageLayout &layout);

  void findLifetimes();
  LogicalResult placeWrites();
  /// Whether a write's value can be made in its target.
  bool canMakeInTarget(WriteOp write, OpResult root);
  bool isSafeBeside(ReadOp read, OpResult root);
  int64_t getIndex(Operation *op) const { return indices.lookup(op); }

  TaskOp task;
  DenseMap<Operation *, int64_t> indices;
  DenseMap<Value, int64_t> lastUse;              ///< of roots
  DenseMap<Value, AddressAttr> fixed;            ///< roots in storage
  llvm::StringMap<SmallVector<ReadOp, 1>> reads; ///< by symbol
  llvm::StringMap<int64_t> writeCounts;
  StorageLayout *layout;
  SmallVector<Value> roots; ///< of `intervals`
  SmallVector<Interval> intervals;
  int64_t numInPlace = 0;
};

} // namespace mlir::st

// Memory of one task's values.
#pragma once

#include "passes/Memory/Arena.h"
#include "llvm/ADT/MapVector.h"
#include <memory>

namespace mlir::st {

class TaskMemory {
public:
  /// Decides which values are computed in storage, and the lifetimes of all others. Fails with a
  /// diagnostic if a write would destroy a value that is still read. `block` is the body of a task
  /// or of a loop in one.
  static FailureOr<TaskMemory> compute(Block &block, StorageLayout &layout);

  /// Places the values that are not in storage; returns their bytes.
  int64_t place(int64_t alignment);
  /// Sets the addresses; the task's own area begins at `areaStart`.
  void annotate(int64_t areaStart) { annotate(areaStart, {}); }
  int64_t getNumInPlace() const { return numInPlace; }

private:
  TaskMemory(Block &block, StorageLayout &layout);

  void annotate(int64_t areaStart, ArrayRef<AddressAttr> captured);

  void findLifetimes();
  void holdForHost();
  LogicalResult placeWrites();
  /// A collective's operand stays alive until the first use of its result, where the code waits for
  /// the collective.
  bool isInTarget(WriteOp write) const;
  void keepOperandsInFlight();
  /// Operands of a concatenation are computed in the result if all of them can be.
  void placeJoined();
  bool canMakeInPart(Value root);
  bool isNeverRead(Value root);
  /// The place of the op that first writes a root's memory.
  int64_t getStart(OpResult root) const;
  /// Returns true if a write's value can be computed in its target.
  bool canMakeInTarget(WriteOp write, OpResult root);
  bool canOverwrite(ReadOp read, OpResult root);
  int64_t getIndex(Operation *op) const { return indices.lookup(op); }

  /// The memory of a loop's body: an interval that lives while the loop runs.
  struct Loop {
    LoopOp op;
    std::unique_ptr<TaskMemory> body;
    size_t interval; ///< of `intervals`
  };

  Block *block;
  DenseMap<Operation *, int64_t> indices;
  DenseMap<Value, int64_t> lastUse;   ///< of roots
  DenseMap<Value, AddressAttr> fixed; ///< roots in storage
  struct Part {
    Value result;   ///< of the kernel that joins the parts
    int64_t offset; ///< bytes
  };
  llvm::MapVector<Value, Part> joined;           ///< roots that are computed as parts of others
  DenseMap<Value, int64_t> joinStart;            ///< of those others
  llvm::StringMap<SmallVector<ReadOp, 1>> reads; ///< by symbol
  llvm::StringMap<int64_t> writeCounts;
  StorageLayout *layout;
  SmallVector<Value> roots; ///< of the first `intervals`, in order
  SmallVector<Interval> intervals;
  SmallVector<Loop, 0> loops;
  int64_t numInPlace = 0;
};

} // namespace mlir::st

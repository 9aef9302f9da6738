// Chooses which collectives of a task are combined into one.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::st {

/// The accesses of a task's ops to the storage of its program.
class StorageOrder {
public:
  /// Earlier ops that must precede this one: writes before a read, all accesses before a write.
  ArrayRef<Operation *> predecessors(Operation *op) const;
  void add(Operation *op);

private:
  struct Accesses {
    SmallVector<Operation *> writes, all;
  };
  llvm::DenseMap<StringAttr, Accesses> accesses;
};

/// Returns true if ops must not move across this one: messages with other groups, and ops with
/// effects other than storage accesses.
bool isBorder(Operation *op);

/// The producers of an op's operands in its block, including values used in its regions.
SmallVector<Operation *> getProducers(Operation *op);

/// Similar collectives in program order.
using Bucket = SmallVector<Operation *>;

/// Fills buckets with the collectives of a block, each of at most `most(op)` bytes, which must be
/// equal for similar collectives. No collective of a bucket depends on another one of it, directly
/// or through other buckets.
std::vector<Bucket> fillBuckets(Block &block, llvm::function_ref<int64_t(Operation *)> most);

} // namespace mlir::st

// Which collectives of a task become one.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::st {

/// What an op does to the storage of its program.
class StorageOrder {
public:
  /// Ops before this one that it has to stay behind: writes before a read, all accesses before a
  /// write.
  ArrayRef<Operation *> predecessors(Operation *op) const;
  void add(Operation *op);

private:
  struct Accesses {
    SmallVector<Operation *> writes, all;
  };
  llvm::DenseMap<StringAttr, Accesses> accesses;
};

/// Whether ops may not move across this one: messages to and from other groups, and what else has
/// effects that are no access to storage.
bool isBorder(Operation *op);

/// Values of the block that an op uses, those used in its regions included.
SmallVector<Operation *> getProducers(Operation *op);

/// Collectives in program order, all alike.
using Bucket = SmallVector<Operation *>;

/// Fills buckets with the collectives of a block, each of at most `most(op)` bytes, which is the
/// same for collectives that are alike. Of collectives that are one bucket none depends on another,
/// also not through other buckets.
std::vector<Bucket> fillBuckets(Block &block, llvm::function_ref<int64_t(Operation *)> most);

} // namespace mlir::st

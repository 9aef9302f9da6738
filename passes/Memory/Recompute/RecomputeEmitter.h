// Moves what a stage computes again from its stash into its backward task.
#pragma once

#include "passes/Memory/Recompute/StageStash.h"

namespace mlir::st {

class RecomputeEmitter {
public:
  RecomputeEmitter(ProgramOp program, const StageStash &stage, const StashChoice &choice)
      : program(program), symbols(program), stage(stage), choice(choice) {}

  void emit();
  /// How many ops the backward task has got.
  int64_t getNumRecomputed() const { return numRecomputed; }

private:
  void keepAdded();
  void sinkReadings(Block &block);
  void shareReadings(Block &block);
  void rewriteBackward();
  void replaceReads(Operation *op);
  /// The backward task's value for one of the forward task, made before the insertion point.
  /// Blocks share nothing but what they read: a value that two of them make would live from the one
  /// to the other.
  Value get(Value value, int64_t block);
  void handOn(int64_t block);
  void removeStashes();

  ProgramOp program;
  SymbolTable symbols;
  const StageStash &stage;
  const StashChoice &choice;
  std::optional<OpBuilder> body; ///< in the backward task
  llvm::StringMap<Value> droppedBySymbol;
  DenseMap<Value, WriteOp> kept; ///< of what is added, the new write
  DenseMap<std::pair<Value, int64_t>, Value> made;
  DenseSet<int64_t> handedOn; ///< blocks
  int64_t numRecomputed = 0;
};

} // namespace mlir::st

// Moves recomputed ops of a stage's forward task into its backward task.
#pragma once

#include "passes/Memory/Recompute/StageStash.h"

namespace mlir::st {

class RecomputeEmitter {
public:
  /// `splitsAttention`: the gradient of attention recomputes its core for itself.
  RecomputeEmitter(ProgramOp program, const StageStash &stage, const StashChoice &choice,
                   bool splitsAttention)
      : program(program), symbols(program), stage(stage), choice(choice),
        splitsAttention(splitsAttention) {}

  void emit();
  /// The number of ops added to the backward task.
  int64_t getNumRecomputed() const { return numRecomputed; }

private:
  void keepAdded();
  void sinkReadings(Block &block);
  void shareReadings(Block &block);
  void rewriteBackward();
  void replaceReads(Operation *op);
  /// The users of a recomputed value: ops that are recomputed, or ops of the gradient.
  enum class Consumer { Recomputed, Gradient };
  /// The backward task's value for a value of the forward task, emitted before the insertion point.
  /// Two blocks never share a recomputed value, because it would stay alive from one to the other.
  /// The same holds for the consumers of the core of attention, if they are split.
  Value get(Value value, int64_t block, Consumer consumer = Consumer::Recomputed);
  void passToWeightTask(int64_t block);
  void removeStashes();

  ProgramOp program;
  SymbolTable symbols;
  const StageStash &stage;
  const StashChoice &choice;
  const bool splitsAttention;
  std::optional<OpBuilder> body; ///< in the backward task
  llvm::StringMap<Value> droppedBySymbol;
  DenseMap<Value, WriteOp> kept;                         ///< for added values, the new write
  DenseMap<std::pair<Value, int64_t>, Value> created[2]; ///< by consumer
  DenseSet<Operation *> unshared; ///< cores of attention for the recomputed layer
  DenseSet<int64_t> passedBlocks; ///< blocks
  int64_t numRecomputed = 0;
};

} // namespace mlir::st

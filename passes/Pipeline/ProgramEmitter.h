// Emits one group's plan as an st.program.
#pragma once

#include "mlir/IR/IRMapping.h"
#include "passes/Pipeline/TaskPlan.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::st {

/// A separate channel for every transfer, so that no two share a queue.
class TransferChannels {
public:
  explicit TransferChannels(const TaskAnalysis &analysis);
  int64_t lookup(TransferOp op) const { return channels.find(op)->second; }

private:
  DenseMap<Operation *, int64_t> channels;
};

/// The symbol of a group's program.
FlatSymbolRefAttr getGroupSymbol(MLIRContext *context, int64_t group);

class ProgramEmitter {
public:
  ProgramEmitter(const TaskAnalysis &analysis, GroupPlan &plan, const TransferChannels &channels)
      : analysis(analysis), plan(plan), channels(channels) {}

  LogicalResult emit(OpBuilder &builder, MeshOp mesh, ArrayRef<int64_t> devices, int64_t firstRank);

private:
  /// A storage op, and whether accesses name the micro-batch.
  struct Storage {
    FlatSymbolRefAttr symbol;
    bool perMicroBatch = false;
  };

  void emitArguments(OpBuilder &builder);
  void emitState(OpBuilder &builder, BlockArgument argument, DictionaryAttr attributes);
  void emitInput(OpBuilder &builder, BlockArgument argument, DictionaryAttr attributes);
  void emitOutputs(OpBuilder &builder);
  void emitBuffers(OpBuilder &builder);
  void emitTask(OpBuilder &builder, TaskPlan &plannedTask);
  void emitItem(const TaskItem &item);
  void emitAccumulate(AccumulateOp op);
  void emitResults();
  void clearAccumulators();
  void numberParameters();

  /// The task's value for a value of the function: computed earlier in this task, read from
  /// storage, received, or recomputed.
  Value get(Value value);
  Value copyOp(Operation *op, Value value);
  Value read(const Storage &storage, Type type);
  /// Returns true if a result of the task replaces a state.
  bool overwrites(FlatSymbolRefAttr state);
  Value copy(Value value);
  void write(Value value, const Storage &storage, ReduceKindAttr accumulate = {});
  /// Writes the results of an op of this task to their buffers.
  void writeBuffers(Operation *op);

  FlatSymbolRefAttr uniqueSymbol(const Twine &base);
  std::optional<int64_t> getAliasedResult(BlockArgument argument) const;

  const TaskAnalysis &analysis;
  GroupPlan &plan;
  const TransferChannels &channels;
  FlatSymbolRefAttr meshSymbol;
  DenseMap<Value, Storage> storage;          ///< of arguments, accumulations and buffered values
  DenseMap<unsigned, Storage> resultStorage; ///< of results, by number
  llvm::StringMap<int64_t> parameterNumbers; ///< of the function, in order of appearance
  llvm::StringSet<> symbols;

  // The task being emitted.
  TaskPlan *task = nullptr;
  TaskOp taskOp;
  std::optional<OpBuilder> body;
  IRMapping mapping;
  DenseMap<std::pair<Attribute, int64_t>, Value> axisIndices; ///< by axis and shift
};

} // namespace mlir::st

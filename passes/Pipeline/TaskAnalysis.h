// The phase of a step to which every op of the local function belongs.
#pragma once

#include "dialects/St/IR/ShardingUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::st {

/// In execution order within a group.
enum class Phase : uint8_t { Prologue, Statistics, Totals, Forward, Backward, Weight, Update };
constexpr unsigned kNumPhases = 7;

/// Returns true if a phase runs once per stage and micro-batch, not once per step.
constexpr bool isPerMicroBatch(Phase phase) {
  return phase != Phase::Prologue && phase != Phase::Totals && phase != Phase::Update;
}

StringRef getPhaseName(Phase phase);

/// Data flow of the local function, op by op in program order. The function must not change while
/// the analysis is in use.
class TaskAnalysis {
public:
  /// `groups` is the group of each stage. `splitsBackward`: gradients of weights have a separate
  /// phase. Fails with a diagnostic on IR that cannot be split: a value used across stages without
  /// a transfer, or statistics that read a parameter.
  static FailureOr<TaskAnalysis> compute(func::FuncOp function, MeshOp mesh,
                                         ArrayRef<int64_t> groups, bool splitsBackward);

  ArrayRef<Operation *> getOps() const { return ops; }
  func::FuncOp getFunction() const { return function; }
  int64_t getMicroBatches() const { return microBatches; }
  int64_t getNumStages() const { return static_cast<int64_t>(groups.size()); }
  /// The group that runs a stage.
  int64_t getGroup(int64_t stage) const { return groups[stage]; }
  /// Returns true if both ends of a transfer are in one group, so that no message is sent.
  bool isWithinGroup(TransferOp op) const {
    return getGroup(op.getSource()) == getGroup(op.getTarget());
  }

  /// Position in program order; an argument comes before every op.
  int64_t getIndex(Value value) const;
  /// The stage of an op; for a transfer, its target.
  int64_t getStage(Operation *op) const;
  /// The phase of an op. Not meaningful for accumulations, which are storage.
  Phase getPhase(Operation *op) const { return info(op).phase; }
  /// The phase in which a value exists; none for arguments and accumulated values, which can be
  /// read in any.
  std::optional<Phase> getValuePhase(Value value) const;
  /// Returns true if an op's results vary by micro-batch.
  bool varies(Operation *op) const { return info(op).varies; }
  /// Returns true if an op runs for every micro-batch.
  bool isLooped(Operation *op) const;
  /// An accumulation that ops within the loop over micro-batches read.
  bool isEarly(AccumulateOp op) const { return info(op).feedsLoop; }
  /// The value itself, or the operand of an accumulation of a single micro-batch or of a transfer
  /// within a group.
  Value resolve(Value value) const;
  /// The phase of the task that computes the operand of an accumulation.
  Phase getAccumulatingPhase(AccumulateOp op) const;
  /// The sharding dimension that is split over micro-batches, or -1.
  static int64_t getMicroDim(ShardingAttr sharding);

private:
  struct OpInfo {
    bool varies = false;            ///< along micro
    bool feedsLoop = false;         ///< a varying value depends on it
    bool afterStatistics = false;   ///< depends on an early accumulation, but does not vary
    bool afterAccumulation = false; ///< depends on an accumulation that only the update reads
    bool leadsToLoss = false;
    bool leadsToStatistics = false;
    Phase phase = Phase::Update;
    int64_t index = 0;
  };

  TaskAnalysis(func::FuncOp function, MeshOp mesh, ArrayRef<int64_t> groups);
  const OpInfo &info(Operation *op) const { return infos[indices.find(op)->second]; }
  OpInfo &info(Operation *op) { return infos[indices.find(op)->second]; }
  const OpInfo *defInfo(Value value) const;

  LogicalResult checkStages();
  void findVarying();
  void findLoopFeeders();
  void findAccumulationUsers();
  void markSlice(ArrayRef<Value> roots, bool OpInfo::*flag);
  void markLoss();
  LogicalResult markStatistics();
  LogicalResult checkStatisticsOp(Operation *op, AccumulateOp accumulate);
  void assignPhases();
  void splitBackward();
  bool isTotal(Operation *op) const;
  DenseSet<Value> findUnreduced() const;
  Phase getIndependentPhase(Operation *op) const;

  func::FuncOp function;
  int64_t microBatches;
  SmallVector<int64_t> groups; ///< per stage
  SmallVector<Operation *> ops;
  SmallVector<OpInfo> infos;
  DenseMap<Operation *, unsigned> indices;
};

} // namespace mlir::st

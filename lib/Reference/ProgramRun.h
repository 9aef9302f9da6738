// Running the `st.program`s of a module. Private to the interpreter.
#ifndef ST_REFERENCE_PROGRAMRUN_H
#define ST_REFERENCE_PROGRAMRUN_H

#include "lib/Reference/Interpreter.h"
#include "lib/Reference/Sharded.h"
#include "llvm/ADT/StringMap.h"

#include <deque>
#include <memory>

namespace mlir::st::ref {

/// Adds a result. Fails if a result of the same name has another value.
LogicalResult addResult(NamedTensors &results, const std::string &name, Tensor tensor,
                        Operation *op);

/// The messages in flight between groups: a queue per pair of groups and channel. A message holds
/// the values of all ranks.
struct Mailboxes {
  using Key = std::tuple<std::string, std::string, int64_t>;
  std::map<Key, std::deque<RankValues>> queues;
};

/// Storage of a program between its tasks: a state, input, output or buffer.
struct Storage {
  Operation *op = nullptr;
  Type type;
  /// True if it has a value per micro-batch, false if one per step.
  bool isPerMicroBatch = false;
  /// One slot, or one per micro-batch in flight.
  SmallVector<RankValues, 1> slots;
  /// The micro-batch whose value each slot holds.
  SmallVector<int64_t, 1> holds;
  bool isWritten = false;
};

/// The run of one device group through its schedule. All its ranks take the same steps, in
/// lockstep.
class GroupRun {
public:
  GroupRun(ProgramOp program, MeshOp mesh, Mailboxes &mailboxes);

  /// Loads states and inputs and finds the schedule.
  LogicalResult start(const NamedTensors &inputs);

  /// Runs until the schedule ends or a message is missing. Sets `moved` if any op ran.
  LogicalResult advance(bool &moved);

  bool isDone() const { return next == schedule.size(); }

  /// The receive that the group waits at.
  RecvOp getBlockedAt() { return cast<RecvOp>(*position); }
  void describeWait(Diagnostic &diagnostic);

  LogicalResult collect(NamedTensors &results);

private:
  LogicalResult loadState(StateOp op, const NamedTensors &inputs);
  LogicalResult loadInput(InputOp op, const NamedTensors &inputs);
  LogicalResult collectOutput(OutputOp op, NamedTensors &results);
  LogicalResult findSchedule();
  void useDefaultSchedule();

  /// Runs one op of a task; sets `blocked` if it must wait.
  LogicalResult evalTaskOp(Operation &op, bool &blocked);
  LogicalResult evalRead(ReadOp op);
  LogicalResult evalWrite(WriteOp op);
  LogicalResult evalLoop(LoopOp op);
  LogicalResult evalRecv(RecvOp op, bool &blocked);
  LogicalResult getSlot(Operation *op, Storage &storage, Value microBatch, size_t &slot,
                        int64_t &index);

  ProgramOp program;
  MeshOp mesh;
  RankGrid deviceGrid, fullGrid;
  Mailboxes &mailboxes;
  Evaluator evaluator;
  llvm::StringMap<Storage> storages;
  bool hasSchedule = false;
  /// Tasks with their micro-batches, and the current position: the task and its next op.
  SmallVector<std::pair<TaskOp, int64_t>> schedule;
  size_t next = 0;
  Block::iterator position;
};

/// Runs all programs of the module to their end.
FailureOr<NamedTensors> runPrograms(ModuleOp module, const NamedTensors &inputs);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_PROGRAMRUN_H

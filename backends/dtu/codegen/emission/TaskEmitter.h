// One task as one program: its ops in order, with a meeting of all queues
// wherever one op needs what another has left in memory.
#pragma once

#include "backends/dtu/codegen/collectives/Collectives.h"
#include "backends/dtu/codegen/emission/HostCopies.h"
#include "backends/dtu/codegen/kernels/KernelContext.h"

namespace mlir::dtu {

class TaskEmitter {
public:
  TaskEmitter(st::TaskOp task, const Machine &machine, RankTable &table,
              const ::st::DtuRings &rings);

  /// Fails with a diagnostic on an op without code or without an address.
  FailureOr<hw::Program> run();

  /// What the task's constants put into the arena.
  SmallVector<std::pair<int64_t, DenseElementsAttr>> constants;

private:
  st::TaskOp task;
  st::ProgramOp program;
  RankTable &table;
  ProgramBuilder builder;
  Links links;
  HostCopies hostCopies;
  CollectiveEmitter collectives;
  SymbolTable symbols;

  /// What the queues have accessed since they met: an update of many parameters needs no meeting
  /// for long.
  OpenAccesses opened;
  SmallVector<Access> accessesOfOp;

  void access(SmallVectorImpl<Access> &list, const Placement &place, bool isWrite);
  /// Starts the accesses of an op, before any of its code.
  void order(ArrayRef<Access> accesses);
  /// One more access of the op: L2.
  void claimL2();
  /// Lets the queues meet if one of `accesses` clashes with an open one or with link work under
  /// way, which they wait for, then opens them.
  void open(ArrayRef<Access> accesses);

  FailureOr<Placement> placementOf(Value value);
  FailureOr<Placement> placementOfStorage(Operation *user, StringRef symbol);

  LogicalResult emit(Operation *op);
  LogicalResult emitKernel(st::KernelOp kernel);
  LogicalResult emitRead(st::ReadOp read);
  LogicalResult emitWrite(st::WriteOp write);
  LogicalResult copyToHost(st::WriteOp write, const Placement &value, const Placement &target);
  LogicalResult emitReshape(Operation *reshape);
  LogicalResult emitSend(st::SendOp send);
  LogicalResult emitRecv(st::RecvOp recv);
  LogicalResult emitCollective(Operation *op);
  /// What follows is link work of the op, which has opened its accesses.
  void beginLinkWork() { links.begin(accessesOfOp); }
  /// All queues meet, behind everything.
  void meet();
  LogicalResult emitAxisIndex(st::AxisIndexOp op);
  LogicalResult emitConstant(Operation *op);
  LogicalResult emitLoop(st::LoopOp loop);
  LogicalResult emitLoopBody(st::LoopOp loop);
  LogicalResult emitBlock(Block &block);
  void testPredicate(const Placement &predicate);
  void copy(Type type, const Placement &from, const Placement &to);
  LogicalResult accumulate(st::WriteOp write, const Placement &value, const Placement &target);
};

} // namespace mlir::dtu

// Emits one task as one program: its ops in order, with a barrier of all queues before an op that
// reads data in memory written by another op.
#pragma once

#include "backends/dtu/codegen/collectives/Collectives.h"
#include "backends/dtu/codegen/emission/HostCopies.h"
#include "backends/dtu/codegen/kernels/KernelContext.h"

namespace mlir::dtu {

class TaskEmitter {
public:
  TaskEmitter(st::TaskOp task, const Machine &machine, KnownTilings &tilings, RankTable &table,
              const ::st::DtuRings &rings);

  /// Fails with a diagnostic on an op without a code generator or without an address.
  FailureOr<hw::Program> run();

  /// The contents of the arena that the task's constants define.
  SmallVector<std::pair<int64_t, DenseElementsAttr>> constants;

private:
  st::TaskOp task;
  st::ProgramOp program;
  KnownTilings &tilings;
  RankTable &table;
  ProgramBuilder builder;
  Links links;
  HostCopies hostCopies;
  CollectiveEmitter collectives;
  SymbolTable symbols;

  /// Accesses since the queues' last barrier. An update of many parameters needs no barrier for a
  /// long time.
  OpenAccesses opened;
  SmallVector<Access> accessesOfOp;

  void access(SmallVectorImpl<Access> &list, const Placement &place, bool isWrite);
  /// Declares the accesses of an op. Call before its code is emitted.
  void order(ArrayRef<Access> accesses);
  /// Declares that the op uses L2 as well.
  void claimL2();
  /// Synchronises the queues if one of `accesses` conflicts with an open access or with link work
  /// in progress, for which they wait. Then opens the accesses.
  void open(ArrayRef<Access> accesses);

  FailureOr<Placement> placementOf(Value value);
  FailureOr<Placement> placementOfStorage(Operation *user, StringRef symbol);

  LogicalResult emit(Operation *op);
  LogicalResult emitKernel(st::KernelOp kernel);
  LogicalResult emitRead(st::ReadOp read);
  LogicalResult emitWrite(st::WriteOp write);
  LogicalResult copyToHost(st::WriteOp write, const Placement &value, const Placement &target);
  LogicalResult emitReshape(Operation *reshape);
  /// A value that is sent to the rank of another group with the same index, or received from it.
  struct Message {
    Placement place;
    RankedTensorType type;
    Expr peer; ///< its rank
  };
  FailureOr<Message> beginMessage(Operation *op, Value value, FlatSymbolRefAttr group,
                                  bool isReceived);
  Piece pieceOf(StreamBuilder &stream, const Message &message);
  LogicalResult emitSend(st::SendOp send);
  LogicalResult emitRecv(st::RecvOp recv);
  LogicalResult emitCollective(Operation *op);
  /// The following code is link work of the op, which has declared its accesses.
  void beginLinkWork() { links.begin(accessesOfOp); }
  /// Synchronises all queues after all earlier work.
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

// Loops of a task: every queue and core runs the same trips.
#include "backends/dtu/codegen/emission/TaskEmitter.h"

using namespace mlir;
using namespace mlir::dtu;

/// Above the trip count of any loop that ends.
static constexpr int64_t kEndless = int64_t(1) << 62;

LogicalResult TaskEmitter::emitBlock(Block &block) {
  for (Operation &op : block)
    if (failed(emit(&op)))
      return failure();
  return success();
}

/// All streams leave the loop unless the predicate holds. A core sees only its own L1, so its queue
/// copies the predicate there and continues once the core has read it.
void TaskEmitter::testPredicate(const Placement &predicate) {
  StreamBuilder &dte = builder.dte, &core = builder.core;
  builder.useL1(kCellAreaBytes + kBufferAlignment);
  hw::Address own = l1Address(kCellAreaBytes);
  CopyShape shape;
  emitCopy(dte, own, l3Address(baseOf(dte, predicate)), shape, hw::DType::I1, hw::DType::I1);
  dte.signal(builder.semaphore(Sem::Start));
  core.wait(builder.semaphore(Sem::Start));
  hw::Address mine;
  mine.space = hw::Space::L1;
  mine.offset.constant = kCellAreaBytes;
  Expr held = core.load(mine, hw::DType::I1);
  core.signal(builder.semaphore(Sem::Done));
  dte.wait(builder.semaphore(Sem::Done));
  core.leaveUnless(held);
  dte.leaveUnless(dte.load(own, hw::DType::I1));
}

LogicalResult TaskEmitter::emitLoopBody(st::LoopOp loop) {
  SmallVector<Access> accesses;
  if (loop.getPredicate()) {
    FailureOr<Placement> predicate = placementOfStorage(loop, *loop.getPredicate());
    if (failed(predicate))
      return failure();
    testPredicate(*predicate);
    // The predicate of the next trip is written after all streams have read this one.
    access(accesses, *predicate, false);
    order(accesses);
  }
  if (failed(emitBlock(loop.getBody().front())))
    return failure();
  meet();
  return success();
}

LogicalResult TaskEmitter::emitLoop(st::LoopOp loop) {
  auto put = [&](Value value, StringRef buffer) -> LogicalResult {
    FailureOr<Placement> from = placementOf(value), to = placementOfStorage(loop, buffer);
    if (failed(from) || failed(to))
      return failure();
    SmallVector<Access> accesses;
    access(accesses, *from, false);
    access(accesses, *to, true);
    order(accesses);
    copy(value.getType(), *from, *to);
    return success();
  };
  WalkResult exchange = loop.getBody().walk([](Operation *op) {
    bool isLocal = isa<st::ReadOp, st::WriteOp, st::CaptureOp, st::KernelOp, st::YieldOp,
                       st::LoopOp, st::AxisIndexOp>(op) ||
                   !isa<st::StDialect>(op->getDialect());
    if (isLocal)
      return WalkResult::advance();
    op->emitOpError("inside a loop is not supported by the DTU backend");
    return WalkResult::interrupt();
  });
  if (exchange.wasInterrupted())
    return failure();
  builder.label("loop");
  for (auto [init, buffer] : llvm::zip_equal(loop.getInits(), loop.getCarried()))
    if (failed(put(init, cast<FlatSymbolRefAttr>(buffer).getValue())))
      return failure();
  if (loop.getPredicate() && failed(put(loop.getCondition(), *loop.getPredicate())))
    return failure();
  meet();
  int64_t trips = loop.getTrips() ? static_cast<int64_t>(*loop.getTrips()) : kEndless;
  LogicalResult result = success();
  builder.dte.loop(0, trips, 1, [&](Expr) {
    builder.core.loop(0, trips, 1, [&](Expr) { result = emitLoopBody(loop); });
  });
  return result;
}

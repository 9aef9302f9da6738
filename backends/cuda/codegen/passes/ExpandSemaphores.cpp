// Lowers semaphores between blocks to atomic operations.
#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_EXPANDSEMAPHORES
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;

namespace {
class ExpandSemaphoresPass : public mlir::cuda::impl::ExpandSemaphoresBase<ExpandSemaphoresPass> {
public:
  void runOnOperation() override;

private:
  void expand(TakeTicketOp op);
  void expand(SemaphoreWaitOp op);
  void expand(SemaphoreReleaseOp op);
};
} // namespace

static Value makeWord(OpBuilder &builder, Location loc, int64_t number) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(static_cast<int32_t>(number)));
}

static Value toWord(OpBuilder &builder, Location loc, Value index) {
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), index);
}

/// Emits code for the block's first thread only.
static void onFirstThread(OpBuilder &builder, Location loc, llvm::function_ref<void()> body) {
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, zero);
  auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

/// PTX's atomic operations do not order other accesses. A fence between one and a gpu.barrier makes
/// earlier writes of other blocks' threads visible.
static void fence(OpBuilder &builder, Location loc) {
  LLVM::FenceOp::create(builder, loc, LLVM::AtomicOrdering::acq_rel, "device");
}

static Value change(OpBuilder &builder, Location loc, arith::AtomicRMWKind kind, Value word,
                    Value semaphores, Value place) {
  return memref::AtomicRMWOp::create(builder, loc, kind, word, semaphores, ValueRange{place});
}

void ExpandSemaphoresPass::expand(TakeTicketOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value shared = op.getShared();
  Value first = arith::ConstantIndexOp::create(builder, loc, 0);
  onFirstThread(builder, loc, [&] {
    Value ticket = change(builder, loc, arith::AtomicRMWKind::addi, makeWord(builder, loc, 1),
                          op.getSemaphores(), op.getPlace());
    memref::StoreOp::create(builder, loc, ticket, shared, ValueRange{first});
  });
  gpu::BarrierOp::create(builder, loc);
  Value ticket = memref::LoadOp::create(builder, loc, shared, ValueRange{first});
  op.replaceAllUsesWith(
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), ticket).getResult());
  op.erase();
}

void ExpandSemaphoresPass::expand(SemaphoreWaitOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  onFirstThread(builder, loc, [&] {
    Value value = toWord(builder, loc, op.getValue());
    scf::WhileOp::create(
        builder, loc, TypeRange(), ValueRange(),
        [&](OpBuilder &inner, Location at, ValueRange) {
          Value now = change(inner, at, arith::AtomicRMWKind::addi, makeWord(inner, at, 0),
                             op.getSemaphores(), op.getPlace());
          Value differs = arith::CmpIOp::create(inner, at, arith::CmpIPredicate::ne, now, value);
          scf::ConditionOp::create(inner, at, differs, ValueRange());
        },
        [](OpBuilder &inner, Location at, ValueRange) { scf::YieldOp::create(inner, at); });
    fence(builder, loc);
  });
  op.erase();
}

void ExpandSemaphoresPass::expand(SemaphoreReleaseOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  onFirstThread(builder, loc, [&] {
    fence(builder, loc);
    change(builder, loc, arith::AtomicRMWKind::assign, toWord(builder, loc, op.getValue()),
           op.getSemaphores(), op.getPlace());
  });
  op.erase();
}

void ExpandSemaphoresPass::runOnOperation() {
  SmallVector<Operation *> ops;
  getOperation()->walk([&](Operation *op) {
    if (isa<TakeTicketOp, SemaphoreWaitOp, SemaphoreReleaseOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto take = dyn_cast<TakeTicketOp>(op))
      expand(take);
    else if (auto await = dyn_cast<SemaphoreWaitOp>(op))
      expand(await);
    else
      expand(cast<SemaphoreReleaseOp>(op));
  }
}

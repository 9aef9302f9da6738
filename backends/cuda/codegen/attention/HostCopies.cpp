#include "backends/cuda/codegen/attention/HostCopies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::cuda;

namespace {
/// State of a copy until its wait, one element per thread: whether it is pending, and the operands
/// that differ between threads.
struct Delayed {
  nvgpu::DeviceAsyncCopyOp op;
  Value source, target;
  Value pending, from, to, elements;
};
} // namespace

static Value makeIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

/// Copies `elements` of the source, then zeros.
static void makeCopy(OpBuilder &builder, Location loc, Delayed copy, Value from, Value to,
                     Value elements) {
  const int64_t width = copy.op.getDstElements().getSExtValue();
  Type element = cast<MemRefType>(copy.target.getType()).getElementType();
  auto type = VectorType::get({width}, element);
  Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, elements,
                                    makeIndex(builder, loc, 0));
  auto load = [&](OpBuilder &inner, Location at) {
    Value loaded = vector::LoadOp::create(inner, at, type, copy.source, from);
    Value lanes = vector::StepOp::create(inner, at, VectorType::get({width}, inner.getIndexType()));
    Value maximum = vector::BroadcastOp::create(inner, at, lanes.getType(), elements);
    Value there = arith::CmpIOp::create(inner, at, arith::CmpIPredicate::ult, lanes, maximum);
    scf::YieldOp::create(inner, at,
                         Value(arith::SelectOp::create(inner, at, there, loaded, zeros)));
  };
  auto branch = scf::IfOp::create(builder, loc, any, load, [&](OpBuilder &inner, Location at) {
    scf::YieldOp::create(inner, at, zeros);
  });
  vector::StoreOp::create(builder, loc, branch.getResult(0), copy.target, to);
}

static LogicalResult check(nvgpu::DeviceAsyncCopyOp op) {
  auto target = cast<MemRefType>(op.getDst().getType());
  const int64_t bytes = op.getDstElements().getSExtValue() * target.getElementTypeBitWidth() / 8;
  if (bytes != 16 || op.getDstIndices().size() != 1 || op.getSrcIndices().size() != 1 ||
      !op.getAsyncToken().use_empty())
    return op.emitOpError("is not a one-dimensional copy of 16 bytes without a token");
  return success();
}

LogicalResult mlir::cuda::makeCopiesOfThreads(gpu::GPUFuncOp kernel, int64_t threads, bool late) {
  SmallVector<Delayed> copies;
  SmallVector<NVVM::CpAsyncWaitGroupOp> waits;
  LogicalResult result = success();
  kernel.walk([&](Operation *op) {
    if (auto copy = dyn_cast<nvgpu::DeviceAsyncCopyOp>(op)) {
      if (failed(check(copy)))
        result = failure();
      copies.push_back({copy, copy.getSrc(), copy.getDst(), {}, {}, {}, {}});
    } else if (auto wait = dyn_cast<NVVM::CpAsyncWaitGroupOp>(op)) {
      if (wait.getN() != 0)
        result = wait.emitOpError("leaves copies pending, expected a wait for all of them");
      waits.push_back(wait);
    }
  });
  if (failed(result))
    return failure();
  Location loc = kernel.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup);
  auto remember = [&]() -> Value {
    return kernel.addWorkgroupAttribution(
        MemRefType::get({threads}, builder.getIndexType(), MemRefLayoutAttrInterface(), space),
        loc);
  };
  for (Delayed &copy : copies) {
    OpBuilder at(copy.op);
    Value elements = copy.op.getSrcElements();
    if (!elements)
      elements = makeIndex(at, loc, copy.op.getDstElements().getSExtValue());
    Value from = copy.op.getSrcIndices().front(), to = copy.op.getDstIndices().front();
    if (!late) {
      makeCopy(at, loc, copy, from, to, elements);
      copy.op.erase();
      continue;
    }
    for (Value *each : {&copy.pending, &copy.from, &copy.to, &copy.elements})
      *each = remember();
    memref::StoreOp::create(builder, loc, makeIndex(builder, loc, 0), copy.pending, thread);
    for (auto [value, memory] :
         {std::pair(from, copy.from), std::pair(to, copy.to), std::pair(elements, copy.elements),
          std::pair(makeIndex(at, loc, 1), copy.pending)})
      memref::StoreOp::create(at, loc, value, memory, thread);
  }
  for (NVVM::CpAsyncWaitGroupOp wait : waits) {
    OpBuilder at(wait);
    for (const Delayed &copy : late ? ArrayRef<Delayed>(copies) : ArrayRef<Delayed>()) {
      auto get = [&](Value memory) -> Value {
        return memref::LoadOp::create(at, loc, memory, thread);
      };
      Value isPending = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::ne, get(copy.pending),
                                              makeIndex(at, loc, 0));
      auto branch = scf::IfOp::create(at, loc, isPending, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(at);
      at.setInsertionPointToStart(&branch.getThenRegion().front());
      makeCopy(at, loc, copy, get(copy.from), get(copy.to), get(copy.elements));
      memref::StoreOp::create(at, loc, makeIndex(at, loc, 0), copy.pending, thread);
    }
    wait.erase();
  }
  for (Delayed &copy : copies)
    if (late)
      copy.op.erase();
  kernel.walk([](NVVM::CpAsyncCommitGroupOp commit) { commit.erase(); });
  return success();
}

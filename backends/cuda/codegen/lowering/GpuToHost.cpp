#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/kernels/ElementaryFunctions.h"
#include "backends/cuda/codegen/lowering/HostKernel.h"
#include "backends/cuda/codegen/products/HostProduct.h"
#include "dialects/St/Interfaces/Notes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_GPUTOHOST
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;

namespace {
class GpuToHostPass : public mlir::cuda::impl::GpuToHostBase<GpuToHostPass> {
public:
  using GpuToHostBase::GpuToHostBase;
  void runOnOperation() override;
};
} // namespace

/// Allocates a task function's memory outside of the arena.
static void placeScratch(func::FuncOp function) {
  SmallVector<cuda::ScratchOp> ops;
  function.walk([&](cuda::ScratchOp op) { ops.push_back(op); });
  if (ops.empty())
    return;
  auto bytes =
      function->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(cuda::kScratchAttr);
  Location loc = function.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  Value size = arith::ConstantIndexOp::create(builder, loc, bytes ? bytes.getInt() : 0);
  Value memory = memref::AllocOp::create(builder, loc, ops.front().getType(), size,
                                         builder.getI64IntegerAttr(64));
  for (cuda::ScratchOp op : ops) {
    op.replaceAllUsesWith(memory);
    op.erase();
  }
  builder.setInsertionPoint(function.getBody().back().getTerminator());
  memref::DeallocOp::create(builder, loc, memory);
}

static LogicalResult replaceLaunch(gpu::LaunchFuncOp launch) {
  if (launch.getAsyncToken() || !launch.getAsyncDependencies().empty())
    return launch.emitOpError("is asynchronous, which gpu-to-host does not support");
  OpBuilder builder(launch);
  gpu::KernelDim3 grid = launch.getGridSizeOperandValues();
  SmallVector<Value> operands{grid.x, grid.y, grid.z};
  llvm::append_range(operands, launch.getKernelOperands());
  func::CallOp::create(builder, launch.getLoc(), launch.getKernelName(), TypeRange(), operands);
  launch.erase();
  return success();
}

void GpuToHostPass::runOnOperation() {
  ModuleOp module = getOperation();
  SymbolTable symbols(module);
  for (auto gpuModule : llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
    for (auto kernel : gpuModule.getOps<gpu::GPUFuncOp>()) {
      func::FuncOp function;
      if (failed(cuda::HostKernel(kernel, descending).emit(function)))
        return signalPassFailure();
      if (Operation *other = symbols.lookup(function.getSymName())) {
        mlir::st::withNote(kernel.emitOpError("has the name of a function of the module"), other,
                           "the function is here");
        return signalPassFailure();
      }
      symbols.insert(function);
    }
    symbols.erase(gpuModule);
  }
  WalkResult walked = module.walk([](gpu::LaunchFuncOp launch) {
    return failed(replaceLaunch(launch)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return signalPassFailure();
  module.walk([](cuda::ProductOp product) { cuda::emitHostProduct(product); });
  module.walk([&](cuda::ApproximateOp op) {
    op.replaceAllUsesWith(cuda::approximateOnHost(op, approximationError).value);
    op.erase();
  });
  module.walk([](cuda::WriteIndexOp write) {
    OpBuilder builder(write);
    Location loc = write.getLoc();
    Value number = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), write.getValue());
    memref::StoreOp::create(builder, loc, number, write.getTarget(),
                            ValueRange(arith::ConstantIndexOp::create(builder, loc, 0)));
    write.erase();
  });
  for (auto function : module.getOps<func::FuncOp>())
    placeScratch(function);
  module.walk([](gpu::MemcpyOp copy) {
    OpBuilder builder(copy);
    memref::CopyOp::create(builder, copy.getLoc(), copy.getSrc(), copy.getDst());
    copy.erase();
  });
  module->removeAttr(gpu::GPUDialect::getContainerModuleAttrName());
}

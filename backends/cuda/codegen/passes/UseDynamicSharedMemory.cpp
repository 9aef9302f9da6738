#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/kernels/SharedMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_USEDYNAMICSHAREDMEMORY
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;

namespace {
class UseDynamicSharedMemoryPass
    : public mlir::cuda::impl::UseDynamicSharedMemoryBase<UseDynamicSharedMemoryPass> {
public:
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (getDynamicSharedBytes(kernel) > 0)
        convert(kernel);
  }

private:
  void convert(gpu::GPUFuncOp kernel);
};
} // namespace

void UseDynamicSharedMemoryPass::convert(gpu::GPUFuncOp kernel) {
  Location loc = kernel.getLoc();
  Block &body = kernel.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  auto space = gpu::AddressSpaceAttr::get(&getContext(), gpu::AddressSpace::Workgroup);
  auto bytes = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type(),
                               MemRefLayoutAttrInterface(), space);
  Value memory = gpu::DynamicSharedMemoryOp::create(builder, loc, bytes);
  const SmallVector<int64_t> offsets = getSharedOffsets(kernel);
  SmallVector<BlockArgument> buffers(kernel.getWorkgroupAttributions());
  for (auto [buffer, offset] : llvm::zip(buffers, offsets)) {
    Value at = arith::ConstantIndexOp::create(builder, loc, offset);
    buffer.replaceAllUsesWith(memref::ViewOp::create(
        builder, loc, cast<MemRefType>(buffer.getType()), memory, at, ValueRange()));
  }
  for (BlockArgument buffer : llvm::reverse(buffers))
    body.eraseArgument(buffer.getArgNumber());
  kernel.removeWorkgroupAttribAttrsAttr();
  kernel->setAttr(kernel.getNumWorkgroupAttributionsAttrName(), builder.getI64IntegerAttr(0));
}

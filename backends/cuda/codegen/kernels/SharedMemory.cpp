#include "backends/cuda/codegen/kernels/SharedMemory.h"

#include "dialects/St/IR/StDialect.h"

using namespace mlir;
using namespace mlir::cuda;

/// Bytes of the widest access.
static constexpr int64_t kAlignment = 16;

int64_t mlir::cuda::getSharedBytes(Operation *op) {
  constexpr int64_t sm80 = 163 << 10;
  auto module = op->getParentOfType<ModuleOp>();
  auto target =
      module ? module->getAttrOfType<mlir::st::TargetAttr>("st.target") : mlir::st::TargetAttr();
  return target && target.getBackend() == "cuda" ? target.getScratchBytes() : sm80;
}

SmallVector<int64_t> mlir::cuda::getSharedOffsets(gpu::GPUFuncOp kernel) {
  SmallVector<int64_t> offsets{0};
  for (BlockArgument buffer : kernel.getWorkgroupAttributions()) {
    auto type = cast<MemRefType>(buffer.getType());
    const Type element = type.getElementType();
    const int64_t width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
    offsets.push_back(offsets.back() +
                      static_cast<int64_t>(llvm::alignTo(
                          type.getNumElements() * llvm::divideCeil(width, 8), kAlignment)));
  }
  return offsets;
}

int64_t mlir::cuda::getDynamicSharedBytes(gpu::GPUFuncOp kernel) {
  const int64_t bytes = getSharedOffsets(kernel).back();
  return bytes > kMaxStaticShared ? bytes : 0;
}

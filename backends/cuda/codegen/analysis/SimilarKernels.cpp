#include "backends/cuda/codegen/analysis/SimilarKernels.h"

using namespace mlir;
using mlir::st::KernelOp;

llvm::hash_code mlir::cuda::hashKernel(KernelOp kernel) {
  llvm::hash_code hash =
      llvm::hash_combine(kernel.getKind(), llvm::hash_combine_range(kernel->getOperandTypes()),
                         llvm::hash_combine_range(kernel->getResultTypes()));
  for (Operation &op : kernel.getBody().front())
    hash = llvm::hash_combine(hash, op.getName(), llvm::hash_combine_range(op.getResultTypes()));
  return hash;
}

KernelOp mlir::cuda::findAttentionBefore(Operation *op) {
  while ((op = op->getPrevNode()))
    if (auto kernel = dyn_cast<KernelOp>(op); kernel && kernel.getKind() == "attention")
      return kernel;
  return {};
}

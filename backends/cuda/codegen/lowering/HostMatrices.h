// Host code for the matrix ops of a warp. A matrix is distributed over the warp's threads.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::cuda {

/// Private functions of a module, each created once. A kernel has hundreds of such ops, and LLVM
/// would need minutes for separate code of each. Arguments are arrays with one element per thread.
struct HostMatrices {
  ModuleOp module;
  int64_t threads;
  bool descending; ///< the order of threads

  /// (a, b, c, result).
  func::FuncOp getProduct(nvgpu::MmaSyncOp op) const;
  /// (shared memory of one dimension and any size, places, result).
  func::FuncOp getLoad(nvgpu::LdMatrixOp op) const;
};

} // namespace mlir::cuda

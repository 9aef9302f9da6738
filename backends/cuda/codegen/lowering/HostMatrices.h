// What a warp does with matrices that its threads hold together, on the host.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::cuda {

/// Private functions of a module, each made once: a kernel has hundreds of such ops, and code for
/// each of them would take LLVM minutes. Arguments are arrays with an element a thread.
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

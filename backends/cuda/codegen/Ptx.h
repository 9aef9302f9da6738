// The last steps from kernels to PTX.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::cuda {

struct PtxOptions {
  std::string chip = "sm_90";
  /// The folder of a CUDA installation, for its libdevice; empty: CUDA_HOME, else /usr/local/cuda.
  /// Kernels need none unless they call functions of f64.
  std::string toolkit;
};

/// Lowers planned programs, or a module of gpu.funcs, to the text of one PTX module, in which
/// nothing is left to resolve. Fails with a diagnostic.
FailureOr<std::string> compileToPtx(ModuleOp module, const PtxOptions &options);

} // namespace mlir::cuda

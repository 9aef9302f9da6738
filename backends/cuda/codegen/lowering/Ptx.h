// The last steps from kernels to PTX.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <optional>
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

/// A tool of CUDA on PATH, or in $CUDA_HOME/bin or /usr/local/cuda/bin; empty where there is none.
std::string findCudaTool(StringRef name);

/// The cubin of PTX, by the ptxas on PATH or of the CUDA installation; nothing where there is none.
FailureOr<std::optional<std::string>> assemblePtx(ModuleOp module, const std::string &ptx,
                                                  const std::string &chip);

} // namespace mlir::cuda

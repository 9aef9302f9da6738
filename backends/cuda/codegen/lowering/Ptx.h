// The last steps from kernels to PTX.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace mlir::cuda {

struct PtxOptions {
  std::string chip = "sm_90";
  /// The folder of a CUDA installation, for its libdevice; empty: CUDA_HOME, else /usr/local/cuda.
  /// Only kernels that call functions of f64 need it.
  std::string toolkit;
};

/// Lowers planned programs, or a module of gpu.funcs, to the text of one PTX module without
/// unresolved symbols. Fails with a diagnostic.
FailureOr<std::string> compileToPtx(ModuleOp module, const PtxOptions &options);

/// The path of a CUDA tool on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin; empty if there is
/// none.
std::string findCudaTool(StringRef name);

/// Assembles PTX to a cubin, with ptxas from PATH or from the CUDA installation. Returns
/// std::nullopt without ptxas.
FailureOr<std::optional<std::string>> assemblePtx(ModuleOp module, const std::string &ptx,
                                                  const std::string &chip);

} // namespace mlir::cuda

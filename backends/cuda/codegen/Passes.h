// Passes of the CUDA backend.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::cuda {

/// Of a task: the function that launches its kernels, with the arena and the micro-batch as its
/// arguments.
constexpr llvm::StringLiteral kFunctionAttr = "cuda.function";
/// Of a program: data that is in the arena before the first step.
constexpr llvm::StringLiteral kConstantsAttr = "cuda.constants";

#define GEN_PASS_DECL
#include "backends/cuda/codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "backends/cuda/codegen/Passes.h.inc"

/// Registers `lower-kernels-to-nvvm` and `lower-host-kernels-to-llvm`.
void registerCudaPipelines();

} // namespace mlir::cuda

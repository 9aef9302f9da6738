// Passes of the CUDA backend.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::cuda {

/// On a task: the function that launches its kernels, with the arena and the micro-batch as
/// arguments.
constexpr llvm::StringLiteral kFunctionAttr = "cuda.function";
/// On a module: the text of the GPU's description.
constexpr llvm::StringLiteral kDescriptionAttr = "cuda.description";
/// On a program: data that is in the arena before the first step.
constexpr llvm::StringLiteral kConstantsAttr = "cuda.constants";
/// On a program: the size of a rank's table, and the entries of all ranks in rank order.
constexpr llvm::StringLiteral kTableSizeAttr = "cuda.table_size";
constexpr llvm::StringLiteral kRankTableAttr = "cuda.rank_table";
/// On a module: bytes that a rank needs besides its arena.
constexpr llvm::StringLiteral kScratchAttr = "cuda.scratch_bytes";

/// On a gpu.func: the bytes that a launch reads and writes, the floating-point operations of its
/// matrix products (both f64), and the type of their operands.
constexpr llvm::StringLiteral kBytesAttr = "cuda.bytes";
constexpr llvm::StringLiteral kProductFlopsAttr = "cuda.product_flops";
constexpr llvm::StringLiteral kProductTypeAttr = "cuda.product_type";

/// The word that a kernel on the host sets if a block would have to wait for another block.
constexpr llvm::StringLiteral kUnmetWaitSymbol = "st_unmet_wait";

/// On an st.kernel and its launch: the previous step's update already wrote the results.
constexpr llvm::StringLiteral kLeftByUpdateAttr = "cuda.left_by_update";

#define GEN_PASS_DECL
#include "backends/cuda/codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "backends/cuda/codegen/Passes.h.inc"

/// Registers `lower-kernels-to-nvvm` and `lower-host-kernels-to-llvm`.
void registerCudaPipelines();

} // namespace mlir::cuda

// Passes of the CUDA backend.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::cuda {

/// Of a task: the function that launches its kernels, with the arena and the micro-batch as its
/// arguments.
constexpr llvm::StringLiteral kFunctionAttr = "cuda.function";
/// Of a module: the text of the GPU's description.
constexpr llvm::StringLiteral kDescriptionAttr = "cuda.description";
/// Of a program: data that is in the arena before the first step.
constexpr llvm::StringLiteral kConstantsAttr = "cuda.constants";
/// Of a program: the entries of a rank's table, and those of all ranks, one rank after the other.
constexpr llvm::StringLiteral kTableSizeAttr = "cuda.table_size";
constexpr llvm::StringLiteral kRankTableAttr = "cuda.rank_table";
/// Of a module: bytes that a rank needs beside its arena.
constexpr llvm::StringLiteral kScratchAttr = "cuda.scratch_bytes";

/// Of a gpu.func: the bytes of memory that a launch reads and writes, the operations of matrix
/// products in it (both f64), and the type of their operands.
constexpr llvm::StringLiteral kBytesAttr = "cuda.bytes";
constexpr llvm::StringLiteral kProductFlopsAttr = "cuda.product_flops";
constexpr llvm::StringLiteral kProductTypeAttr = "cuda.product_type";

/// The word that a kernel on the host sets if a block waits for a turn that cannot come.
constexpr llvm::StringLiteral kMissedTurnsSymbol = "st_missed_turns";

/// Of an st.kernel and of its launch: the update of the step before has left what it makes.
constexpr llvm::StringLiteral kLeftByUpdateAttr = "cuda.left_by_update";

#define GEN_PASS_DECL
#include "backends/cuda/codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "backends/cuda/codegen/Passes.h.inc"

/// Registers `lower-kernels-to-nvvm` and `lower-host-kernels-to-llvm`.
void registerCudaPipelines();

} // namespace mlir::cuda

// The input of a kernel generator.
#pragma once

#include "backends/dtu/codegen/kernels/TileEmitter.h"

#include "dialects/St/IR/StDialect.h"

namespace mlir::dtu {

class KnownTilings;

/// A kernel with its operands and results placed in memory.
struct KernelContext {
  ProgramBuilder &builder;
  KnownTilings &tilings; // of products
  Block &body;           // of an st.kernel
  SmallVector<Placement> inputs,
      results; // places of the body's arguments and of the terminator's operands
  /// A kernel that uses L2 calls this before it emits code.
  llvm::function_ref<void()> claimL2;
};

/// Loads step i+1 while step i is computed and the results of step i-1 are stored.
///
/// Runs load, compute and store for start, start + step, … below limit; slots alternate. The queue
/// waits for the core before it stores, so all work is complete when the loop ends.
struct PipelinedLoop {
  Expr start;
  int64_t limit = 0, step = 1;

  using Body = llvm::function_ref<void(StreamBuilder &, Expr index, Expr slot)>;
  void emit(ProgramBuilder &builder, Body load, Body compute, Body store) const;

private:
  Expr slotOf(StreamBuilder &stream, const Expr &index) const;
};

/// Kernels of kind "loop" and "reduce": elementwise work and reductions over one space.
LogicalResult emitLoopKernel(KernelContext &context);
/// Kernels of kind "matmul": products of one left operand with elementwise epilogues.
LogicalResult emitMatmulKernel(KernelContext &context);
/// Kernels of kind "attention": fused attention-like kernels.
LogicalResult emitAttentionKernel(KernelContext &context);
/// Kernels of kind "copy": one op that moves data.
LogicalResult emitCopyKernel(KernelContext &context);
/// Returns true if a kernel concatenates values that were computed in place in its result: no code
/// is needed.
bool joinsInPlace(const KernelContext &context);
/// Kernels of kind "gather" and "scatter".
LogicalResult emitGatherKernel(KernelContext &context);
LogicalResult emitScatterKernel(KernelContext &context);

} // namespace mlir::dtu

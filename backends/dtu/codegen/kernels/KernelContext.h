// What the generator of one kernel is given.
#pragma once

#include "backends/dtu/codegen/kernels/TileEmitter.h"

#include "dialects/St/IR/StDialect.h"

namespace mlir::dtu {

/// A kernel with its operands and results placed in memory.
struct KernelContext {
  ProgramBuilder &builder;
  Block &body; // of an st.kernel
  SmallVector<Placement> inputs,
      results; // of the body's arguments and of the terminator's operands
  /// A kernel that keeps something in L2 calls this before it emits code.
  llvm::function_ref<void()> claimL2;
};

/// Loads step i+1 while step i is computed and step i-1's results are on their way out.
///
/// Runs load, compute and store for start, start + step, … below limit; slots alternate. The queue
/// waits for the core before it stores, so everything is over when the loop is.
struct PipelinedLoop {
  Expr start;
  int64_t limit = 0, step = 1;

  using Body = llvm::function_ref<void(StreamBuilder &, Expr index, Expr slot)>;
  void emit(ProgramBuilder &builder, Body load, Body compute, Body store) const;

private:
  Expr slotOf(StreamBuilder &stream, const Expr &index) const;
};

/// Elementwise work and reductions over one space: kernels of kind "loop" and "reduce".
LogicalResult emitLoopKernel(KernelContext &context);
/// Products of one left operand with elementwise epilogues: kernels of kind "matmul".
LogicalResult emitMatmulKernel(KernelContext &context);
/// Products, row work on what they make, products of that: kernels of kind "chain".
LogicalResult emitChainKernel(KernelContext &context);
/// One op that moves data: kernels of kind "copy".
LogicalResult emitCopyKernel(KernelContext &context);
/// Whether a kernel joins what has been made in its places of the result: there is nothing to do.
bool joinsInPlace(const KernelContext &context);
/// Kernels of kind "gather" and "scatter".
LogicalResult emitGatherKernel(KernelContext &context);
LogicalResult emitScatterKernel(KernelContext &context);

} // namespace mlir::dtu

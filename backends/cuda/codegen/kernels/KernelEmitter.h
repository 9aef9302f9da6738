// Common parts of the generators of all kinds of kernels: index arithmetic, memory, control flow
// and cooperation of a block's threads.
#pragma once

#include "backends/cuda/codegen/kernels/Elementwise.h"

namespace mlir::gpu {
class GPUFuncOp;
} // namespace mlir::gpu

namespace mlir::cuda {

/// A launch of a kernel. Blocks and threads have one dimension.
struct Launch {
  int64_t blocks = 1, threads = 1;
  /// Minimum number of blocks that a multiprocessor runs at the same time. It limits the registers
  /// that ptxas assigns.
  int64_t together = 1;
};

/// Emits one gpu.func. Its arguments are the kernel's inputs, then its results, each a dense
/// one-dimensional buffer of storage type.
class KernelEmitter {
public:
  /// `alignments`: alignment in bytes of the address of each argument.
  KernelEmitter(Operation *kernel, Block &body, gpu::GPUFuncOp function,
                ArrayRef<int64_t> alignments);

  Block &body; ///< of the st.kernel
  Operation *kernel;
  OpBuilder builder;
  Location loc;

  /// The buffers of the body's arguments and of the terminator's operands.
  unsigned getBuffer(BlockArgument argument) const { return argument.getArgNumber(); }
  unsigned getResultBuffer(unsigned result) const { return body.getNumArguments() + result; }

  // Index arithmetic; constants are folded.
  Value index(int64_t constant);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b) { return b == 0 ? a : add(a, index(b)); }
  Value mul(Value a, int64_t b);
  Value mulValues(Value a, Value b);
  Value div(Value a, int64_t b);
  Value rem(Value a, int64_t b);
  Value min(Value a, int64_t b);
  Value max(Value a, int64_t b);
  /// An i1.
  Value less(Value a, Value b);
  Value less(Value a, int64_t b) { return less(a, index(b)); }
  Value isZero(Value a);
  Value equal(Value a, Value b);
  Value isNot(Value condition);
  /// Conjunction of conditions; null means true.
  Value both(Value a, Value b);
  /// Coordinates of a row-major position among `sizes`.
  SmallVector<Value> delinearize(Value position, ArrayRef<int64_t> sizes);
  /// An index as an i64.
  Number fromIndex(Value index);
  /// A number of an integer type as an index.
  Value toIndex(Number number, bool isUnsigned);
  Number number(Value value) const { return Number(builderRef(), loc, value); }
  /// An element of a constant.
  Number constant(Attribute number, Type element);

  // Control flow.
  void onlyIf(Value condition, llvm::function_ref<void()> body);
  /// The results have the types that `onTrue` returns.
  SmallVector<Number> choose(Value condition, llvm::function_ref<SmallVector<Number>()> onTrue,
                             llvm::function_ref<SmallVector<Number>()> onFalse);
  /// for (i = from; i < to; i += step) carried = body(i, carried).
  SmallVector<Number> loop(Value from, Value to, int64_t step, ArrayRef<Number> initial,
                           llvm::function_ref<SmallVector<Number>(Value, ArrayRef<Number>)> body);

  // Memory. Positions count elements of type `element`. A `width` above 1 loads adjacent elements
  // as a vector, in one access if `isAligned` promises that the position is a multiple of the
  // width.
  Number load(unsigned buffer, Value position, Type element, int64_t width = 1,
              bool isAligned = false);
  void store(unsigned buffer, Value position, Number number, bool isAligned = false);
  Number loadShared(Value memory, Value position, Type computeType);
  /// A vector requires a position that is a multiple of its width.
  void storeShared(Value memory, Value position, Number number);
  /// Loads four 8 x 8 matrices of 16-bit floats, in the layout of nvgpu.ldmatrix: each thread of a
  /// warp gets two adjacent elements of a row (or column, if `transposed`) of each matrix. Thread 8
  /// i + j passes the position of row j of matrix i, aligned to 16 bytes.
  SmallVector<Value> loadMatrices(Value memory, Value position, bool transposed);
  /// Copies 16 bytes asynchronously from a buffer to shared memory, both at positions aligned to 16
  /// bytes; writes zeros where `exists` is false (null: always true). The copy is visible to this
  /// thread after `waitForCopies`.
  void copyAsync(unsigned buffer, Value position, Value memory, Value target, Value exists);
  void waitForCopies();
  /// Returns true if a buffer is aligned to `bytes`.
  bool isAligned(unsigned buffer, int64_t bytes) const { return alignments[buffer] % bytes == 0; }
  /// Allocates shared memory for `elements` values of a type.
  Value addShared(int64_t elements, Type type);

  // The threads of a block.
  Value thread();
  Value block();
  void barrier();
  // Order of blocks by semaphores, a buffer of words; see cuda.take_ticket, cuda.semaphore_wait and
  // cuda.semaphore_release.
  Value takeTicket(unsigned semaphores, Value place);
  void semaphoreWait(unsigned semaphores, Value place, Value value);
  void semaphoreRelease(unsigned semaphores, Value place, Value value);
  /// The number, not a vector, of the thread whose index differs in the bits of `mask`.
  Number shuffleXor(Number number, int64_t mask);
  /// Returns a * b + c of matrices distributed over a warp, of sizes 16 x 16, 16 x 8 and 16 x 8,
  /// the last of f32, in the layout of nvgpu.mma.sync's m16n8k16. `a` has four pairs, `b` two.
  SmallVector<Number> multiplyMatrices(ArrayRef<Value> a, ArrayRef<Value> b, ArrayRef<Number> c);
  /// Combines the numbers of `sharers` adjacent threads, and returns the result to each of them.
  /// `sharers` is a power of two.
  Number combineAcross(const Combiner &combiner, Number number, int64_t sharers, int64_t threads);

  /// Records that the kernel does only this share of its products' operations.
  void scaleProductWork(double share);
  /// Ends the function and sets its launch.
  void finish(Launch launch);
  Launch launch;

private:
  OpBuilder &builderRef() const { return const_cast<OpBuilder &>(builder); }

  Operation *function;
  SmallVector<int64_t> alignments;
  Value threadId, blockId;

  Block &entry();
};

/// Generators by kind. Each fails with a diagnostic that names the op and the kernel.
LogicalResult emitLoopKernel(KernelEmitter &emitter);
LogicalResult emitAttentionKernel(KernelEmitter &emitter);
LogicalResult emitCopyKernel(KernelEmitter &emitter);
LogicalResult emitGatherKernel(KernelEmitter &emitter);
LogicalResult emitScatterKernel(KernelEmitter &emitter);

} // namespace mlir::cuda

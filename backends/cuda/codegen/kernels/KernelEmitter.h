// What the generators of all kinds of kernels write with: index arithmetic, memory, control flow
// and what the threads of a block do together.
#pragma once

#include "backends/cuda/codegen/kernels/Elementwise.h"

namespace mlir::gpu {
class GPUFuncOp;
} // namespace mlir::gpu

namespace mlir::cuda {

/// A launch of a kernel. Blocks and threads have one dimension.
struct Launch {
  int64_t blocks = 1, threads = 1;
  /// Blocks that a multiprocessor has registers for, whatever ptxas would like.
  int64_t together = 1;
};

/// Writes one gpu.func. Its arguments are the kernel's inputs, then its results, each a dense
/// buffer of one dimension in storage types.
class KernelEmitter {
public:
  /// `alignments`: bytes by which the address of each argument can be divided.
  KernelEmitter(Operation *kernel, Block &body, gpu::GPUFuncOp function,
                ArrayRef<int64_t> alignments);

  Block &body; ///< of the st.kernel
  Operation *kernel;
  OpBuilder builder;
  Location loc;

  /// The buffers that the body's arguments and the terminator's operands stand for.
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
  /// An i1.
  Value less(Value a, Value b);
  Value less(Value a, int64_t b) { return less(a, index(b)); }
  Value isZero(Value a);
  Value equal(Value a, Value b);
  Value isNot(Value condition);
  /// All of them; null stands for true.
  Value both(Value a, Value b);
  /// Coordinates of a row-major position among `sizes`.
  SmallVector<Value> delinearize(Value position, ArrayRef<int64_t> sizes);
  /// An index as an i64.
  Number fromIndex(Value index);
  /// A number of an integer type as an index.
  Value toIndex(Number number, bool isUnsigned);
  Number number(Value value) const { return Number(builderRef(), loc, value); }
  /// Of an element of a constant.
  Number constant(Attribute number, Type element);

  // Control flow.
  void onlyIf(Value condition, llvm::function_ref<void()> body);
  /// Results of both ways have the types of what `onTrue` gives.
  SmallVector<Number> choose(Value condition, llvm::function_ref<SmallVector<Number>()> onTrue,
                             llvm::function_ref<SmallVector<Number>()> onFalse);
  /// for (i = from; i < to; i += step) carried = body(i, carried).
  SmallVector<Number> loop(Value from, Value to, int64_t step, ArrayRef<Number> initial,
                           llvm::function_ref<SmallVector<Number>(Value, ArrayRef<Number>)> body);

  // Memory. A buffer of element type `element` at a position in elements; `width` > 1 reads
  // neighbours as a vector, in one access where `isAligned` says that the position is a multiple of
  // the width.
  Number load(unsigned buffer, Value position, Type element, int64_t width = 1,
              bool isAligned = false);
  void store(unsigned buffer, Value position, Number number, bool isAligned = false);
  Number loadShared(Value memory, Value position, Type computeType);
  /// A vector goes to a position that is a multiple of its width.
  void storeShared(Value memory, Value position, Number number);
  /// Four matrices of 8 x 8 floats of 16 bits, as nvgpu.ldmatrix brings them to the threads of a
  /// warp: of each thread two neighbours of a row (or column, if `transposed`) of each. Thread
  /// 8 i + j says where row j of matrix i is, at 16 bytes.
  SmallVector<Value> loadMatrices(Value memory, Value position, bool transposed);
  /// Copies as many elements as 16 bytes have from a buffer to shared memory while the threads go
  /// on, both at positions of 16 bytes; zeros where `exists` does not hold (null: always). Known to
  /// be there for this thread after `waitForCopies`.
  void copyAsync(unsigned buffer, Value position, Value memory, Value target, Value exists);
  void waitForCopies();
  /// Whether a buffer is aligned to `bytes`.
  bool isAligned(unsigned buffer, int64_t bytes) const { return alignments[buffer] % bytes == 0; }
  /// Allocates shared memory for `elements` values of a type.
  Value addShared(int64_t elements, Type type);

  // The threads of a block.
  Value thread();
  Value block();
  void barrier();
  // Turns of blocks, in a buffer of words: what cuda.take_number, cuda.await_turn and cuda.end_turn
  // say.
  Value takeNumber(unsigned turns, Value place);
  void awaitTurn(unsigned turns, Value place, Value turn);
  void endTurn(unsigned turns, Value place, Value next);
  /// Of a number (no vector): what the thread whose number differs in the bits of `mask` has.
  Number shuffleXor(Number number, int64_t mask);
  /// a * b + c of the matrices that the threads of a warp hold together, 16 x 16, 16 x 8 and 16 x
  /// 8, the last of f32: what nvgpu.mma.sync says of m16n8k16. `a` are four pairs, `b` two.
  SmallVector<Number> multiplyMatrices(ArrayRef<Value> a, ArrayRef<Value> b, ArrayRef<Number> c);
  /// All of the `sharers` neighbours' numbers combined, for each of them. `sharers` is a power of
  /// two.
  Number combineAcross(const Combiner &combiner, Number number, int64_t sharers, int64_t threads);

  /// Ends the function, which is launched so from then on.
  void finish(Launch launch);
  Launch launch;

private:
  OpBuilder &builderRef() const { return const_cast<OpBuilder &>(builder); }

  Operation *function;
  SmallVector<int64_t> alignments;
  Value threadId, blockId;

  Block &entry();
};

/// Generators by kind. Each fails with a diagnostic that names op and kernel.
LogicalResult emitLoopKernel(KernelEmitter &emitter);
LogicalResult emitAttentionKernel(KernelEmitter &emitter);
LogicalResult emitCopyKernel(KernelEmitter &emitter);
LogicalResult emitGatherKernel(KernelEmitter &emitter);
LogicalResult emitScatterKernel(KernelEmitter &emitter);

} // namespace mlir::cuda

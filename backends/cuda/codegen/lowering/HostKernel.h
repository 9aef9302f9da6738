// A GPU kernel as a function for the host.
#pragma once

#include "backends/cuda/codegen/lowering/HostMatrices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::cuda {

/// One kernel as a function of the grid's size and the kernel's arguments.
///
/// There are three kinds of ops. All threads execute a collective op together: a barrier, a
/// shuffle, a matrix load or product of a warp, or an op with such an op in a region. Collective
/// ops split the code into segments; a block that contains one directly is a common block. A
/// uniform op has the same result in all threads of a block and is emitted once. Each segment runs
/// its other ops in one loop over threads.
class HostKernel {
public:
  HostKernel(gpu::GPUFuncOp kernel, bool descending)
      : kernel(kernel), loc(kernel.getLoc()), builder(kernel.getContext()), descending(descending) {
  }

  LogicalResult emit(func::FuncOp &function);

private:
  gpu::GPUFuncOp kernel;
  Location loc;
  OpBuilder builder;
  bool descending;
  SmallVector<int64_t> blockSize;
  int64_t threads = 1;

  func::FuncOp host;
  IRMapping uniform;             // of values that are equal for all threads
  DenseMap<Value, Value> arrays; // of values with users in other segments: one element per thread
  DenseMap<Operation *, unsigned> segments;
  DenseSet<Block *> commonBlocks;
  DenseSet<Operation *> collectives;
  SmallVector<Value> allocations;
  unsigned numSegments = 0;

  bool containsCollective(Operation *op);
  void assignSegments(Block &block);
  Operation *commonAncestor(Operation *op);
  bool isUniform(Value value);
  bool isUsedInOtherSegment(Value value);
  Value allocate(MemRefType type);
  Value arrayOf(Value value);
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  Value mapUniform(Value value);
  Value valueAt(Value value, Value thread);
  void forThreads(llvm::function_ref<void(Value)> body);
  Value threadId(gpu::ThreadIdOp op, Value thread);
  void replaceThreadIds(Operation *op, Value thread);

  LogicalResult emitBlock(Block &block);
  void emitRun(ArrayRef<Operation *> run);
  LogicalResult emitCollective(Operation *op);
  void emitShuffle(gpu::ShuffleOp op);
  HostMatrices matrices() { return {kernel->getParentOfType<ModuleOp>(), threads, descending}; }
  Value arrayWith(Value value);
  void emitMatrixProduct(nvgpu::MmaSyncOp op);
  void emitMatrixLoad(nvgpu::LdMatrixOp op);
  LogicalResult emitOrderOp(Operation *op);
  void emitOutOfOrder();
  void emitSharedWord(memref::LoadOp op);
  LogicalResult emitFor(scf::ForOp op);
  LogicalResult emitIf(scf::IfOp op);
  /// Copies the values of all threads to the arrays of other values.
  void assign(ValueRange from, ValueRange to);
};

} // namespace mlir::cuda

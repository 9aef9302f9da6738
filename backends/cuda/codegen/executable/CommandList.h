// Translates the functions of tasks to the command lists of an Executable.
#pragma once

#include "backends/cuda/codegen/executable/AssignStreams.h"
#include "lib/Proto/cuda.pb.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::cuda {

/// Reads functions as `convert-kernels-to-gpu` emits them, before any folding.
class CommandLists {
public:
  /// Returns the commands of a task. Fails with a diagnostic on an op without a command.
  FailureOr<::st::proto::CudaProgram> translate(func::FuncOp task);

  /// The kernels that all tasks so far launch, indexed by their number in commands.
  ArrayRef<gpu::GPUFuncOp> getKernels() const { return kernels; }
  ::st::proto::CudaKernel describe(size_t kernel) const;

private:
  using Commands = google::protobuf::RepeatedPtrField<::st::proto::CudaCommand>;

  struct Grid {
    int64_t blocks = 0, threads = 0;
    SmallVector<int64_t> alignments; ///< of each argument: the minimum over all launches
    SmallVector<KernelArgument> arguments;
  };
  SmallVector<gpu::GPUFuncOp> kernels;
  SmallVector<Grid> grids;
  DenseMap<Operation *, int64_t> numbers;

  LogicalResult translateBlock(Block &block, Commands &commands);
  template <typename OpTy, typename CommandTy>
  LogicalResult translateWithBody(OpTy op, CommandTy &command,
                                  LogicalResult (*translate)(OpTy, CommandTy &));
  LogicalResult translateCounted(scf::ForOp loop, ::st::proto::CudaLoop &command);
  LogicalResult translateWhile(scf::WhileOp loop, ::st::proto::CudaLoop &command);
  LogicalResult translateOp(Operation *op, Commands &commands);
  LogicalResult translateLaunch(gpu::LaunchFuncOp launch, ::st::proto::CudaLaunch &command);
};

} // namespace mlir::cuda

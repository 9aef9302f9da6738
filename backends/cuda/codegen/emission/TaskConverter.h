// Converts a task to a function that launches kernels.
#pragma once

#include "backends/common/RankTable.h"
#include "backends/cuda/codegen/attention/Attention.h"
#include "backends/cuda/codegen/kernels/KernelEmitter.h"
#include "backends/cuda/codegen/products/Product.h"
#include "dialects/St/IR/StDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::cuda {

/// The largest alignment that an access needs. Arenas have a larger alignment.
constexpr int64_t kMaxAlignment = 16;

/// The location of a value in the rank's arena or scratch memory.
struct Place {
  mlir::st::AddressAttr address;
  RankedTensorType type;
  bool isScratch = false;

  int64_t bytes() const {
    return type.getNumElements() * getStorageType(type.getElementType()).getIntOrFloatBitWidth() /
           8;
  }
  int64_t alignment() const {
    int64_t common = address.getOffset() | (address.getSlots() > 1 ? address.getStride() : 0);
    return common == 0 ? kMaxAlignment : std::min(kMaxAlignment, common & -common);
  }
  MemRefType bufferType() const {
    return MemRefType::get({type.getNumElements()}, getStorageType(type.getElementType()));
  }
};

/// The gpu.funcs of a module. Equal kernels, such as those of equal layers, share one.
class KernelLibrary {
public:
  explicit KernelLibrary(ModuleOp module) : module(module), symbols(module) {}

  struct Entry {
    st::KernelOp kernel;
    SmallVector<int64_t> alignments;
    gpu::GPUFuncOp function;
    Launch launch;
  };
  FailureOr<const Entry *> get(st::KernelOp kernel, ArrayRef<Place> places);
  size_t size() const { return count; }

private:
  ModuleOp module;
  SymbolTable symbols;
  gpu::GPUModuleOp gpuModule;
  DenseMap<size_t, SmallVector<std::unique_ptr<Entry>>> entries; // by hash
  size_t count = 0;

  FailureOr<std::unique_ptr<Entry>> emit(st::KernelOp kernel, ArrayRef<Place> places);
};

/// Handling of fused kernels that cuDNN may compute.
struct AttentionOptions {
  bool usesCudnn = false; ///< they become a cuda.attention
  bool explains = false;  ///< remarks explain why a kernel is not attention
};

/// Bytes of scratch memory that the bodies of a module's products need.
int64_t getBodyScratchBytes(ModuleOp module);

/// The buffers that a kernel with crossing products has after its results, with their offsets in
/// scratch memory: f32 sums and semaphores.
SmallVector<std::pair<int64_t, RankedTensorType>> getSerialBuffers(st::KernelOp kernel);

/// Builds the function that runs one task.
class TaskConverter {
public:
  TaskConverter(st::TaskOp task, KernelLibrary &library, st::RankTable &table,
                AttentionOptions attention)
      : task(task), program(task->getParentOfType<st::ProgramOp>()), library(library), table(table),
        attention(attention), symbols(program), builder(task.getContext()) {}

  FailureOr<func::FuncOp> run();
  SmallVector<Attribute> constants;
  /// Kernels generated for this task. The library refers to them, so they outlive the conversion.
  SmallVector<OwningOpRef<st::KernelOp>> generatedKernels;
  int64_t scratchBytes = 0; ///< for collectives and bodies of products
  /// The first bytes are only for bodies of products, because collectives run concurrently.
  int64_t bodyScratchBytes = 0;
  int64_t numAttention = 0;

private:
  st::TaskOp task;
  st::ProgramOp program;
  KernelLibrary &library;
  st::RankTable &table;
  AttentionOptions attention;
  SymbolTable symbols;
  OpBuilder builder;
  Value arena, microBatch;
  Operation *isConverted = nullptr; ///< converted together with the kernel before it
  DenseMap<Operation *, gpu::LaunchFuncOp> launches; ///< of converted kernels

  FailureOr<Place> placeOf(Value value);
  FailureOr<Place> placeOfStorage(Operation *user, StringRef symbol);
  Value view(Location loc, const Place &place);
  LogicalResult convert(Operation *op);
  LogicalResult convertBlock(Block &block);
  LogicalResult convertLoop(st::LoopOp loop);
  LogicalResult convertKernel(st::KernelOp kernel);
  bool isComputedInStorage(st::KernelOp kernel, ArrayRef<Place> places);
  LogicalResult launch(st::KernelOp kernel, ArrayRef<Place> places);
  LogicalResult convertProduct(st::KernelOp kernel, ArrayRef<Place> places);
  /// Emits the body of a product with an activation or sums: the same work without an epilogue.
  LogicalResult emitProductBody(st::KernelOp kernel, const Product &product, ArrayRef<Place> places,
                                ProductOp op);
  LogicalResult activate(st::KernelOp kernel, const Product &product, const Place &before,
                         const Place &result, const Place *aux);
  LogicalResult addUpOperand(st::KernelOp kernel, const Product &product, const Place &operand,
                             const Place &sums);
  /// Sums along a dimension in f32, and rounds once.
  LogicalResult addUp(st::KernelOp like, const Place &from, int64_t dim, const Place &to);
  /// Launches a kernel on places; `write` builds its result.
  using KernelBody = llvm::function_ref<Value(OpBuilder &, ValueRange)>;
  LogicalResult launchGenerated(st::KernelOp like, StringRef kind, ArrayRef<Place> inputs,
                                const Place &result, KernelBody write);
  /// Converts a fused kernel, alone or with the next one, to a cuda.attention, or to its launch.
  LogicalResult convertAttentionKernel(st::KernelOp kernel, ArrayRef<Place> places);
  /// Returns false if the kernels are not attention.
  FailureOr<bool> convertAttention(ArrayRef<st::KernelOp> kernels);
  LogicalResult emitAttention(ArrayRef<st::KernelOp> kernels, const Attention &attention,
                              ArrayRef<SmallVector<Place>> places);
  /// Moves launches whose results only these kernels read, and cuDNN does not, into the body.
  LogicalResult moveLaunches(ArrayRef<st::KernelOp> kernels, ValueRange readByCudnn, Block &body);
  /// Launches a fused kernel, after one that clears its semaphores if it has any.
  LogicalResult launchAttentionKernel(st::KernelOp kernel, ArrayRef<Place> places);
  FailureOr<SmallVector<Place>> placesOf(st::KernelOp kernel);
  LogicalResult convertWrite(st::WriteOp write);
  LogicalResult convertConstant(stablehlo::ConstantOp constant);
  LogicalResult convertAxisIndex(st::AxisIndexOp index);
  void copy(Operation *op, const Place &from, const Place &to);
  /// Launches a kernel that reduces places of one type in their order. It sums 16-bit floats in f32
  /// and rounds once.
  LogicalResult reduce(Operation *op, ArrayRef<Place> parts, const Place &to, st::ReduceKind kind);

  // Collectives (TaskCollectives.cpp).
  struct Collective;
  LogicalResult convertCollective(Operation *op);
  LogicalResult convertTensors(Collective &all);
  LogicalResult convertAllReduce(Collective &all, st::ReduceKind kind);
  LogicalResult convertReduceScatter(Collective &all, int64_t dim, st::ReduceKind kind);
  LogicalResult convertPermute(st::CollectivePermuteOp permute, const Place &from, const Place &to);
  LogicalResult convertAllSlice(st::AllSliceOp slice);
  LogicalResult reducePieces(const Collective &all, const Place &pieces, const Place &to,
                             st::ReduceKind kind);
  /// Sends a piece of `from` to each member, or all of it if `isSame`; `to` receives a piece from
  /// each member.
  void exchange(const Collective &all, const Place &from, bool isSame, const Place &to);
  Place packTensors(Collective &all);
  Place packParts(Collective &all, int64_t dim);
  void packInto(const Collective &all, const Place &packed);
  Place takeReceived(Collective &all, int64_t dim);
  void unpackTensors(const Collective &all, const Place &packed);
  void unpackParts(const Collective &all, const Place &received, int64_t dim);
  /// A view of `bytes` at a place, or `further` times `bytes` later.
  Value bytesView(Location loc, const Place &place, int64_t bytes, Value further);
  /// Copies part `number` along a dimension of `full` to `part`, or back.
  enum class Direction { FromFull, IntoFull };
  void copyPart(Location loc, const Place &full, const Place &part, int64_t dim, Value number,
                Direction direction);
  LogicalResult convertSend(st::SendOp send);
  LogicalResult convertReceive(st::RecvOp receive);
  FailureOr<int64_t> counterpartIn(Operation *op, FlatSymbolRefAttr group);
};

} // namespace mlir::cuda

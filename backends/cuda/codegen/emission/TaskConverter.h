// What convert-kernels-to-gpu makes of a task: a function that launches kernels.
#pragma once

#include "backends/common/RankTable.h"
#include "backends/cuda/codegen/attention/Attention.h"
#include "backends/cuda/codegen/kernels/KernelEmitter.h"
#include "backends/cuda/codegen/products/Product.h"
#include "dialects/St/IR/StDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::cuda {

/// Accesses need no more; arenas are aligned to more than this.
constexpr int64_t kMostAlignment = 16;

/// Where a value lies: in the rank's arena or its scratch memory.
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
    return common == 0 ? kMostAlignment : std::min(kMostAlignment, common & -common);
  }
  MemRefType bufferType() const {
    return MemRefType::get({type.getNumElements()}, getStorageType(type.getElementType()));
  }
};

/// The gpu.funcs of a module. Kernels that are the same, as those of equal layers, are one.
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

/// How attention kernels that cuDNN may compute are converted.
struct AttentionOptions {
  bool isTold = false;   ///< they are a cuda.attention
  bool explains = false; ///< remarks say why others are none
};

/// Scratch memory that bodies of a module's products may take.
int64_t getBodyScratchBytes(ModuleOp module);

/// The buffers that an attention kernel with crossing products has behind its results, with where
/// each lies in scratch memory: sums of f32, and words for turns.
SmallVector<std::pair<int64_t, RankedTensorType>> getTurnBuffers(st::KernelOp kernel);

/// The function that runs one task.
class TaskConverter {
public:
  TaskConverter(st::TaskOp task, KernelLibrary &library, st::RankTable &table,
                AttentionOptions attention)
      : task(task), program(task->getParentOfType<st::ProgramOp>()), library(library), table(table),
        attention(attention), symbols(program), builder(task.getContext()) {}

  FailureOr<func::FuncOp> run();
  SmallVector<Attribute> constants;
  /// Kernels that were made for writes, to be erased when the library needs them no more.
  SmallVector<OwningOpRef<st::KernelOp>> ownKernels;
  int64_t scratchBytes = 0; ///< that collectives and bodies of products take
  /// Of it the first that only bodies of products take: collectives run beside them.
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
  Operation *isConverted = nullptr; ///< with the kernel before it

  FailureOr<Place> placeOf(Value value);
  FailureOr<Place> placeOfStorage(Operation *user, StringRef symbol);
  Value view(Location loc, const Place &place);
  LogicalResult convert(Operation *op);
  LogicalResult convertBlock(Block &block);
  LogicalResult convertLoop(st::LoopOp loop);
  LogicalResult convertKernel(st::KernelOp kernel);
  bool isMadeInStorage(st::KernelOp kernel, ArrayRef<Place> places);
  LogicalResult launch(st::KernelOp kernel, ArrayRef<Place> places);
  LogicalResult convertProduct(st::KernelOp kernel, ArrayRef<Place> places);
  /// Writes what a product with an activation or sums does in another way into its body.
  LogicalResult emitProductBody(st::KernelOp kernel, const Product &product, ArrayRef<Place> places,
                                ProductOp op);
  LogicalResult activate(st::KernelOp kernel, const Product &product, const Place &before,
                         const Place &result, const Place *aux);
  LogicalResult addUpOperand(st::KernelOp kernel, const Product &product, const Place &operand,
                             const Place &sums);
  /// Along a dimension, in f32, rounded once.
  LogicalResult addUp(st::KernelOp like, const Place &from, int64_t dim, const Place &to);
  /// A kernel of places, of which `write` makes the result.
  using OwnBody = llvm::function_ref<Value(OpBuilder &, ValueRange)>;
  LogicalResult launchOwn(st::KernelOp like, StringRef kind, ArrayRef<Place> inputs,
                          const Place &result, OwnBody write);
  /// An attention kernel as a cuda.attention, if it is one, alone or with that behind it, or as its
  /// launch.
  LogicalResult convertAttentionKernel(st::KernelOp kernel, ArrayRef<Place> places);
  /// Nothing where it is none.
  FailureOr<bool> convertAttention(ArrayRef<st::KernelOp> kernels);
  LogicalResult emitAttention(ArrayRef<st::KernelOp> kernels, const Attention &attention,
                              ArrayRef<SmallVector<Place>> places);
  /// A launch of an attention kernel; where blocks take turns, behind one that clears what counts
  /// these.
  LogicalResult launchAttentionKernel(st::KernelOp kernel, ArrayRef<Place> places);
  FailureOr<SmallVector<Place>> placesOf(st::KernelOp kernel);
  LogicalResult convertWrite(st::WriteOp write);
  LogicalResult convertConstant(stablehlo::ConstantOp constant);
  LogicalResult convertAxisIndex(st::AxisIndexOp index);
  void copy(Operation *op, const Place &from, const Place &to);
  /// A kernel that reduces places of one type, in their order. 16-bit floats are added up in f32
  /// and rounded once.
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
  /// A piece of `from` goes to each member, or, where `isSame`, all of it to each; `to` is made of
  /// a piece from each.
  void exchange(const Collective &all, const Place &from, bool isSame, const Place &to);
  Place packWhole(Collective &all);
  Place packParts(Collective &all, int64_t dim);
  void packInto(const Collective &all, const Place &packed);
  Place takeReceived(Collective &all, int64_t dim);
  void unpackWhole(const Collective &all, const Place &packed);
  void unpackParts(const Collective &all, const Place &received, int64_t dim);
  /// `bytes` from a place on, or so many times the bytes further.
  Value bytesView(Location loc, const Place &place, int64_t bytes, Value further);
  /// Copies part `number` along a dimension of `whole` from there to `part`, or the other way
  /// round.
  enum class Direction { FromWhole, IntoWhole };
  void copyPart(Location loc, const Place &whole, const Place &part, int64_t dim, Value number,
                Direction direction);
  LogicalResult convertSend(st::SendOp send);
  LogicalResult convertReceive(st::RecvOp receive);
  FailureOr<int64_t> counterpartIn(Operation *op, FlatSymbolRefAttr group);
};

} // namespace mlir::cuda

// The generator of kernels of kind "attention": see AttentionKernel.cpp.
#pragma once

#include "backends/cuda/codegen/attention/AttentionTile.h"
#include "backends/cuda/codegen/attention/SoftmaxSums.h"
#include "dialects/StableHLO/Utils/DiagonalBand.h"

namespace mlir::cuda {

class AttentionKernel {
public:
  AttentionKernel(KernelEmitter &emitter, FusedAttention &fused)
      : emitter(emitter), fused(fused), values(emitter, fused.body(), fused.space) {}

  LogicalResult emit();

private:
  using LoopIndex = AttentionTile::LoopIndex;
  using Numbers = AttentionTile::Numbers;
  using AtTile = llvm::function_ref<LogicalResult(Value first, SmallVectorImpl<Number> &carried)>;
  /// `parallel` and `element` number this thread's parallel indices and its elements of a tile.
  using AtElement =
      llvm::function_ref<LogicalResult(int64_t parallel, int64_t element, Value exists)>;
  /// Accumulators of products: this thread's elements of a tile.
  using ProductTiles = SmallVector<std::pair<Value, Numbers>>;
  using Sums = SmallVector<ElementValues::Sum>;
  using AtScaledSum =
      llvm::function_ref<void(size_t index, const SoftmaxScale &scale, size_t part)>;
  /// Results of the last pass.
  struct Results {
    SmallVector<std::pair<Value, unsigned>> stored; ///< values and their buffers
    SmallVector<Value> tiles;  ///< the stored values that vary along the reduction loop
    SmallVector<Value> panels; ///< operands of the products
    Numbers sums;              ///< initial sums of the products
  };

  KernelEmitter &emitter;
  FusedAttention &fused;
  ElementValues values;
  std::unique_ptr<AttentionTile> tile;
  SmallVector<LoopIndex> parallel; ///< parallel indices of this thread
  Value firstTile, endTiles;       ///< of the reduction loop
  SmallVector<ElementValues::Known> ofParallel;
  /// Set if there are crossing products: the buffers into which blocks accumulate in a fixed order.
  std::optional<AttentionTile::SerialSums> serial;
  int64_t parallelTiles = 1; ///< blocks of a head
  /// The elements to visit, by the index of the reduction loop minus the parallel index.
  st::DiagonalBand band;

  void enterParallel(int64_t part);
  void leaveParallel(int64_t part);

  LogicalResult prepare(ArrayRef<Value> needed);
  SmallVector<AttentionProduct *> producersOf(ArrayRef<Value> needed);
  FailureOr<Numbers> forTiles(Numbers carried, ArrayRef<AttentionProduct *> products, AtTile body);
  ProductTiles multiply(Value first, ArrayRef<AttentionProduct *> producers);
  LogicalResult forElements(Value first, const ProductTiles &products, AtElement body);
  LogicalResult accumulate(Value first, const ProductTiles &products, const Sums &level,
                           MutableArrayRef<Number> totals);
  LogicalResult finishSum(ElementValues::Sum &sum, ArrayRef<Number> totals);
  LogicalResult reduce(Sums &level);

  // Softmax: row maxima, and row sums of exp(x - max) (SoftmaxPass.cpp).
  FailureOr<Number> emitExponential(const ElementValues::Sum &sum, Number x);
  LogicalResult enterMaxima(const Sums &maxima, const Sums &level, ArrayRef<Number> before,
                            MutableArrayRef<Number> carried, SmallVectorImpl<Number> &scales);
  LogicalResult finishSoftmax(Sums &maxima, Sums &level, MutableArrayRef<Number> sums,
                              SmallVectorImpl<Number> &scales);
  Numbers getIdentities(const Sums &maxima, const Sums &level);
  LogicalResult reduceWithExponentials(Sums &maxima, Sums &level);
  void forScaledSums(const Sums &level, AtScaledSum body);
  LogicalResult addSoftmaxTile(Value first, const Sums &maxima, const Sums &level,
                               ArrayRef<AttentionProduct *> producers, const Results &results,
                               MutableArrayRef<Number> carried);
  LogicalResult finishWithSoftmax(Sums &maxima, Sums &level);
  bool canFinishWithSoftmax(const Sums &level);

  // The last pass.
  Results getResults();
  FailureOr<Number> getPanel(Value panel, Value exists);
  SmallVector<AttentionProduct *> withConsumers(ArrayRef<AttentionProduct *> producers);
  void addProducts(Value first, const Results &results, ArrayRef<Numbers> panels,
                   MutableArrayRef<Number> sums);
  void storeProducts(ArrayRef<Number> sums);

  // The tiles that the mask keeps (MaskedTiles.cpp).
  st::DiagonalBand findBand();
  Value getBound(Value index, const st::DiagonalBand::TileBound &bound);
  void setTiles(Value firstParallel);

  // Crossing products (SerialAccumulation.cpp).
  Value enterBlock(int64_t heads);
  Value getSemaphoreIndex(Value tileNumber);
  Value getSemaphoreValue(Value tileNumber);
  Value getFirstTicket(Value tileNumber);
  Value getLastTicket(Value tileNumber);
  void releaseSemaphore(Value tileNumber);
  void addProductsSerially(Value first, const Results &results, ArrayRef<Numbers> panels,
                           MutableArrayRef<Number> sums);
  LogicalResult storeRows(const Results &results);
  LogicalResult finish();
};

} // namespace mlir::cuda

// Distribution of a tile's elements over the threads of a block, and the products of a tile.
#pragma once

#include "backends/cuda/codegen/attention/AttentionPlan.h"
#include "backends/cuda/codegen/kernels/ElementValues.h"

#include <memory>

namespace mlir::cuda {

/// A tile has 64 or 128 elements along the parallel loop and up to 64 along the reduction loop.
/// Each thread holds the elements at its indices of both loops, ordered by parallel index. A
/// product reads its operands from shared memory.
class AttentionTile {
public:
  using Numbers = SmallVector<Number>;

  /// Maximum number of elements of a tile along the reduction loop, and along the parallel loop for
  /// kernels without crossing products.
  static constexpr int64_t kSize = 64;

  /// Distribution of a tile over a block.
  struct Shape {
    int64_t threads, parallelParts, streamedParts; ///< per thread
    int64_t streamedSize;                          ///< a divisor of kSize
    int64_t together = 1;                          ///< blocks that share a multiprocessor
    int64_t parallelSize = kSize;                  ///< size of the tile along the parallel loop
  };

  /// The buffers and indices with which blocks accumulate a crossing product in a fixed order.
  struct SerialSums {
    unsigned sums, semaphores; ///< buffers: f32 sums, and one word per tile and head
    Value head;                ///< index of this block's head
    Value tiles;               ///< per head
    Value ticket;              ///< of this block among those of its head
  };

  /// The blocks that add to a tile of a crossing product, by their tickets.
  struct Tickets {
    Value first, last;
  };

  /// Uses tensor cores if all operands of products have one 16-bit type. `firstParallel`: the
  /// block's first index of the parallel loop.
  static std::unique_ptr<AttentionTile> create(KernelEmitter &emitter, const FusedAttention &fused,
                                               const ElementValues &values, Value firstParallel);
  virtual ~AttentionTile() = default;

  /// Returns the number of elements of a block along the parallel loop, or 0 if the crossing
  /// products cannot be planned: they require tensor cores.
  static int64_t getParallelSize(const KernelEmitter &emitter, const FusedAttention &fused);
  /// Returns true if the crossing products can be planned for any layout of the matrices.
  static bool canCross(const FusedAttention &fused, int64_t sharedBytes);

  /// An index of one of the two loops, clamped to the last one.
  struct LoopIndex {
    Value coordinate, exists; ///< null: always in bounds
  };
  LoopIndex getLoopIndex(Value coordinate, unsigned group);
  /// Offset of a matrix at the coordinates of the outer loops.
  Value getOuterPosition(const AttentionMatrix &matrix);

  const Shape shape;

  /// The thread's number of indices per loop, and the indices of the tile that begins at `first`.
  /// The constant offset of a part is added last, so that all parts share the rest of the address.
  const int64_t parallelParts, streamedParts;
  Value getParallelPlace(Value first, int64_t part) {
    return emitter.add(emitter.add(first, parallelLane), getParallelOffset(part));
  }
  Value getStreamedPlace(Value first, int64_t part) {
    return emitter.add(emitter.add(first, streamedLane), getStreamedOffset(part));
  }

  /// Emits code ahead of all tiles. The coordinates of outer loops are set.
  virtual void begin() {}
  /// Begins a pass over tiles `begin` to `end` that computes these products.
  virtual void beginPass(ArrayRef<AttentionProduct *> products, Value begin, Value end) {
    (void)products, (void)begin, (void)end;
  }
  /// Waits until the tile's operands are in shared memory.
  virtual void enterTile(Value tile) { (void)tile; }
  /// Returns the accumulators of a product: this thread's elements, in f32, of the tile at `first`.
  virtual Numbers multiply(const AttentionProduct &product, Value first) = 0;
  /// Publishes operand number `panel` of a tile's products to all threads, from this thread's f32
  /// elements. Elements out of bounds are zero.
  virtual void publish(ArrayRef<Number> elements, size_t panel) = 0;
  /// The type to which `publish` rounds.
  virtual Type getPanelType() { return f32(); }
  /// Returns the sums of a consumer plus the contribution of the published tile.
  virtual Numbers add(const AttentionProduct &product, Value first, size_t panel,
                      ArrayRef<Number> sums) = 0;
  /// Adds the tile's part of a crossing product. The last block stores the result.
  virtual void cross(const AttentionProduct &product, Value tile, size_t panel,
                     const SerialSums &serial, const Tickets &tickets) {
    (void)product, (void)tile, (void)panel, (void)serial, (void)tickets;
    llvm_unreachable("tiles without tensor cores have no crossing products");
  }
  /// Number of a consumer's sums per thread.
  int64_t countSums(const AttentionProduct &product) const {
    return shape.parallelSize * getColumns(product) / shape.threads;
  }
  /// The thread's parallel index, by position, to which its `index`th sum belongs.
  virtual int64_t getPartOfSum(const AttentionProduct &product, int64_t index) const = 0;
  /// Stores a consumer's sums.
  virtual void store(const AttentionProduct &product, ArrayRef<Number> sums) = 0;
  /// Combines the numbers of all threads that share a parallel index.
  virtual Number combine(const Combiner &combiner, Number number, int64_t part) = 0;

protected:
  AttentionTile(KernelEmitter &emitter, const FusedAttention &fused, const ElementValues &values,
                Value firstParallel, Shape shape)
      : shape(shape), parallelParts(shape.parallelParts), streamedParts(shape.streamedParts),
        emitter(emitter), fused(fused), values(values), firstParallel(firstParallel) {}

  static std::unique_ptr<AttentionTile> createPlain(KernelEmitter &emitter,
                                                    const FusedAttention &fused,
                                                    const ElementValues &values,
                                                    Value firstParallel);
  /// Returns null if the types do not suit tensor cores or the operands exceed shared memory.
  static std::unique_ptr<AttentionTile> createCores(KernelEmitter &emitter,
                                                    const FusedAttention &fused,
                                                    const ElementValues &values,
                                                    Value firstParallel);

  /// Offsets of a thread's parts from its first one.
  virtual int64_t getParallelOffset(int64_t part) const = 0;
  virtual int64_t getStreamedOffset(int64_t part) const = 0;
  /// Number of computed columns of a product's result.
  static int64_t getColumns(const AttentionProduct &product) {
    return static_cast<int64_t>(llvm::alignTo(product.width, 16));
  }
  Number zero() { return emitter.constant(emitter.builder.getF32FloatAttr(0), f32()); }
  Type f32() { return emitter.builder.getF32Type(); }
  int64_t getParallelLoop() const { return fused.space.getSize(fused.parallel); }
  int64_t getStreamedSize() const { return fused.space.getSize(fused.streamed); }
  KernelEmitter &emitter;
  const FusedAttention &fused;
  const ElementValues &values;
  Value firstParallel;
  Value parallelLane, streamedLane; ///< offset of this thread's first elements in a tile
};

} // namespace mlir::cuda

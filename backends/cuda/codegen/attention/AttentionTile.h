// How the threads of a block share the elements of an attention kernel's tile, and multiply for it.
#pragma once

#include "backends/cuda/codegen/attention/AttentionPlan.h"
#include "backends/cuda/codegen/kernels/ElementValues.h"

#include <memory>

namespace mlir::cuda {

/// A tile has 64 or 128 elements along the block's parallel loop and up to 64 along the streamed
/// loop.
/// Each thread holds the elements at its indices of both loops, in the order of its parallel
/// indices. A product reads its operands from shared memory.
class AttentionTile {
public:
  using Numbers = SmallVector<Number>;

  /// Elements of a tile along the streamed loop, at most, and along the parallel loop of attention
  /// kernels without crossing products.
  static constexpr int64_t kSize = 64;

  /// How a block works on a tile.
  struct Shape {
    int64_t threads, ownParts, streamedParts; ///< of a thread
    int64_t streamedSize;                     ///< a divisor of kSize
    int64_t together = 1;                     ///< blocks that share a multiprocessor
    int64_t ownSize = kSize;                  ///< of the tile along the parallel loop
  };

  /// Where blocks that take turns add up the result of a crossing product.
  struct InTurn {
    unsigned sums, turns; ///< buffers: of f32, and a word for each tile of each head
    Value head;           ///< number of this block's head
    Value tiles;          ///< of a head
    Value turn;           ///< of this block
  };

  /// With tensor cores where all that products read is of one 16-bit type. `firstOwn`: the block's
  /// first index of the parallel loop.
  static std::unique_ptr<AttentionTile> create(KernelEmitter &emitter, const FusedAttention &fused,
                                               const ElementValues &values, Value firstOwn);
  virtual ~AttentionTile() = default;

  /// Elements of a block along the parallel loop; 0 where an attention kernel has crossing products
  /// and no plan for these, which takes tensor cores.
  static int64_t getOwnSize(const KernelEmitter &emitter, const FusedAttention &fused);
  /// Whether there is a plan for an attention kernel's crossing products, wherever its matrices
  /// are.
  static bool canCross(const FusedAttention &fused, int64_t sharedBytes);

  /// An index of one of the two loops; where it is beyond the end, the last one is used instead.
  struct Point {
    Value coordinate, exists; ///< null: always
  };
  Point makePoint(Value coordinate, unsigned group);
  /// Where a matrix begins at the coordinates of the outer loops.
  Value getOuterPosition(const AttentionMatrix &matrix);

  const Shape shape;

  /// How many indices a thread has of either loop, and which: the tile begins at `first`.
  /// The constant of a part is added last, so that what is the same of several parts' coordinates
  /// without their low bits is seen to be.
  const int64_t ownParts, streamedParts;
  Value getOwnPlace(Value first, int64_t part) {
    return emitter.add(emitter.add(first, ownLane), getOwnOffset(part));
  }
  Value getStreamedPlace(Value first, int64_t part) {
    return emitter.add(emitter.add(first, streamedLane), getStreamedOffset(part));
  }

  /// Code ahead of all tiles. The coordinates of outer loops are known.
  virtual void begin() {}
  /// A pass over tiles `begin` to `end`, numbers of tiles, with the products that it computes.
  virtual void beginPass(ArrayRef<AttentionProduct *> products, Value begin, Value end) {
    (void)products, (void)begin, (void)end;
  }
  /// Ahead of what a pass does with a tile: what it reads is there.
  virtual void enterTile(Value tile) { (void)tile; }
  /// Accumulators of a product: this thread's elements, in f32, of the tile that begins at `first`.
  virtual Numbers multiply(const AttentionProduct &product, Value first) = 0;
  /// Gives all threads what a product reads, the `panel`th of a tile: this thread's elements, in
  /// f32, zeros beyond the end.
  virtual void publish(ArrayRef<Number> points, size_t panel) = 0;
  /// To which these are rounded.
  virtual Type getPanelType() { return f32(); }
  /// The sums of a product that reads rows, with what the tile adds that was published.
  virtual Numbers add(const AttentionProduct &product, Value first, size_t panel,
                      ArrayRef<Number> sums) = 0;
  /// Adds the tile's part of a crossing product to its sums, which the block of turn `last` stores.
  virtual void cross(const AttentionProduct &product, Value tile, size_t panel,
                     const InTurn &inTurn, Value last) {
    (void)product, (void)tile, (void)panel, (void)inTurn, (void)last;
    llvm_unreachable("tiles without tensor cores have no crossing products");
  }
  /// How many of these a thread has.
  int64_t countSums(const AttentionProduct &product) const {
    return shape.ownSize * getColumns(product) / shape.threads;
  }
  /// The parallel index of the `index`th, by its number in the thread.
  virtual int64_t getPartOfSum(const AttentionProduct &product, int64_t index) const = 0;
  /// Stores them.
  virtual void store(const AttentionProduct &product, ArrayRef<Number> sums) = 0;
  /// Combines the numbers of all threads that have a parallel index.
  virtual Number combine(const Combiner &combiner, Number number, int64_t part) = 0;

protected:
  AttentionTile(KernelEmitter &emitter, const FusedAttention &fused, const ElementValues &values,
                Value firstOwn, Shape shape)
      : shape(shape), ownParts(shape.ownParts), streamedParts(shape.streamedParts),
        emitter(emitter), fused(fused), values(values), firstOwn(firstOwn) {}

  static std::unique_ptr<AttentionTile> createPlain(KernelEmitter &emitter,
                                                    const FusedAttention &fused,
                                                    const ElementValues &values, Value firstOwn);
  /// Null where the types are none for tensor cores, or operands are too many for shared memory.
  static std::unique_ptr<AttentionTile> createCores(KernelEmitter &emitter,
                                                    const FusedAttention &fused,
                                                    const ElementValues &values, Value firstOwn);

  /// Where the parts of a thread lie behind its first ones.
  virtual int64_t getOwnOffset(int64_t part) const = 0;
  virtual int64_t getStreamedOffset(int64_t part) const = 0;
  /// Of a product's result, as many as are computed.
  static int64_t getColumns(const AttentionProduct &product) {
    return static_cast<int64_t>(llvm::alignTo(product.width, 16));
  }
  Number zero() { return emitter.constant(emitter.builder.getF32FloatAttr(0), f32()); }
  Type f32() { return emitter.builder.getF32Type(); }
  int64_t getOwnLoop() const { return fused.space.getSize(fused.own); }
  int64_t getStreamedSize() const { return fused.space.getSize(fused.streamed); }
  KernelEmitter &emitter;
  const FusedAttention &fused;
  const ElementValues &values;
  Value firstOwn;
  Value ownLane, streamedLane; ///< where this thread's first points lie in a tile
};

} // namespace mlir::cuda

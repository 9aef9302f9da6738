// Operands of tensor cores that come through shared memory.
#pragma once

#include "backends/cuda/codegen/ChainPlan.h"
#include "backends/cuda/codegen/ChainTile.h"

namespace mlir::cuda {

/// The matrices that stream by, a tile of them at a time, and those along the own points where they
/// are too many for registers. Where 16 bytes of them are neighbours, the next tile is on its way
/// while one is worked on. A row in shared memory has 16 bytes more than its own, so that eight
/// rows that are read together lie in different banks.
class CoreOperands {
public:
  /// Depth of a core's product, and columns that are read together.
  static constexpr int64_t kDepth = 16;
  /// Of operands along the own points that are kept in registers, the depth of all together.
  static constexpr int64_t kMostKept = 128;

  struct Plan {
    int64_t streamedSize; ///< rows of a tile
    int64_t stages;       ///< tiles in shared memory: two where copies run ahead
    bool keepsOwn;        ///< operands along the own points are in registers
  };

  /// Whether all that streams by is copied 16 bytes at a time.
  static bool canCopyAsync(const KernelEmitter &emitter, const Chain &chain);
  /// Whether a block's static shared memory has room.
  static bool fits(const Chain &chain, Plan plan);

  CoreOperands(KernelEmitter &emitter, const Chain &chain, Plan plan, int64_t threads);
  const Plan plan;

  /// Code ahead of all tiles.
  void begin(ChainTile &tile, Value firstOwn);
  void beginPass(ArrayRef<ChainProduct *> products, Value begin, Value end);
  void enterTile(Value number);

  /// First operand of this warp's core: 16 own points, 16 of the depth.
  SmallVector<Value> getOwn(const ChainProduct &product, int64_t depth);
  /// Second operands of two cores: 16 streamed points from `row` on, 16 of the depth.
  SmallVector<Value> getStreamed(const ChainProduct &product, int64_t row, int64_t depth);
  /// Second operands of two cores: 16 streamed points are the depth, from `depth` on, and there are
  /// 16 columns.
  SmallVector<Value> getStreamedTurned(const ChainProduct &product, int64_t depth, int64_t column);

private:
  /// Rows of a matrix in shared memory.
  struct Rows {
    const ChainMatrix *matrix = nullptr;
    unsigned group = 0;
    int64_t width = 0, size = 0; ///< of the matrix; rows of a tile
    Value memory;
    Value outer, lane, turnedLane; ///< of this thread
    int64_t columns() const { return static_cast<int64_t>(llvm::alignTo(width, kDepth)); }
    int64_t pitch() const;
  };

  static SmallVector<Rows> collectStreamed(const Chain &chain, int64_t size);
  static SmallVector<Rows> collectOwn(const Chain &chain);
  void prepare(Rows &rows);
  Rows &find(const ChainMatrix &matrix, int64_t width);
  void load(const Rows &rows, Value first, Value target);
  void load(Value number);

  KernelEmitter &emitter;
  const Chain &chain;
  int64_t threads;
  ChainTile *tile = nullptr;
  SmallVector<Rows> streamed, own;
  SmallVector<unsigned> loaded; ///< of those that stream by: in this pass
  Value end;                    ///< of this pass
  Value stage;                  ///< tiles ahead of the current one in shared memory
};

} // namespace mlir::cuda

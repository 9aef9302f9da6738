// Operands of tensor cores that come through shared memory.
#pragma once

#include "backends/cuda/codegen/attention/AttentionPlan.h"
#include "backends/cuda/codegen/attention/AttentionTile.h"

namespace mlir::cuda {

/// The matrices along the reduction loop, a tile of them at a time, and those along the parallel
/// loop that are too many for registers. Where 16 bytes of them are neighbours, the next tile is on
/// its way while one is worked on. A row in shared memory is followed by 16 bytes of padding, so
/// that eight rows that are read together are in different banks.
class CoreOperands {
public:
  /// Rows and depth of a core's product; columns that are read together.
  static constexpr int64_t kRows = 16, kDepth = 16;

  /// How a block works on its tiles.
  struct Plan {
    int64_t streamedSize; ///< rows of a tile along the reduction loop
    int64_t stages;       ///< tiles in shared memory: two where copies run ahead
    int64_t cores;        ///< products of 16 rows that a warp has below each other
    unsigned kept;        ///< producers, by bit, whose parallel operands are in registers
    int64_t ownSize = AttentionTile::kSize; ///< rows of a tile along the parallel loop
    /// Warps of the same rows: each has a part of the tile's columns, and of the columns of what
    /// consumers make.
    int64_t beside = 1;

    bool keeps(size_t producer) const { return kept >> producer & 1; }
    int64_t warps() const { return ownSize / (kRows * cores) * beside; }
    int64_t columnsOfWarp() const { return streamedSize / beside; }
  };
  /// How the warps of a block share what a tile adds to a crossing product: each has `rows` of the
  /// tile along the reduction loop and `columns` of the result. No rows: they cannot.
  struct CrossingShare {
    int64_t rows = 0, columns = 0;
  };
  static CrossingShare shareCrossing(const AttentionProduct &product, Plan plan);

  /// Whether all operands of the reduction loop are copied 16 bytes at a time.
  static bool canCopyAsync(const KernelEmitter &emitter, const FusedAttention &fused);
  /// Whether so many bytes of shared memory have room, and warps can share the work so.
  static bool fits(const FusedAttention &fused, Plan plan, int64_t sharedBytes);
  /// Bytes of shared memory that a block reads and writes for 64 x 64 elements.
  static int64_t countBytes(const FusedAttention &fused, Plan plan);

  CoreOperands(KernelEmitter &emitter, const FusedAttention &fused, Plan plan);
  const Plan plan;

  /// Code ahead of all tiles.
  void begin(AttentionTile &tile, Value firstOwn);
  void beginPass(ArrayRef<AttentionProduct *> products, Value begin, Value end);
  void enterTile(Value number);

  /// First operand of one of this warp's cores: 16 indices of the parallel loop, 16 of the depth.
  SmallVector<Value> getOwn(const AttentionProduct &product, int64_t core, int64_t depth);
  /// Second operands of two products of 8 columns: 16 indices of the reduction loop from `row` on,
  /// 16 of the depth.
  SmallVector<Value> getStreamed(const AttentionProduct &product, int64_t row, int64_t depth);
  /// Second operands of two products of 8 columns: 16 indices of the reduction loop are the depth,
  /// from `depth` on, and there are 16 columns.
  /// `further`: as many rows beyond `depth`.
  SmallVector<Value> getStreamedTurned(const AttentionProduct &product, int64_t depth,
                                       int64_t column, Value further = {});

  // What products read, where it is in shared memory, rounded: columns are those of the tile.
  bool sharesPanels() const { return plan.beside > 1 || !fused.crossing.empty(); }
  /// Two neighbours of a row.
  void putPanel(size_t panel, Value row, Value column, Number pair);
  /// First operand of one of this warp's cores, 16 columns from one on.
  SmallVector<Value> getPanel(size_t panel, int64_t core, Value column);
  /// First operand for which the panel's columns are rows, and its rows the depth.
  SmallVector<Value> getPanelTurned(size_t panel, int64_t row, Value column);
  /// Second operands of two products of 8 columns of a crossing product: 16 of the block's rows are
  /// the depth.
  SmallVector<Value> getCrossing(const AttentionProduct &product, int64_t row, Value column);

  /// This thread's warp: its place among those of other rows, and among those of the same rows.
  Value warpBelow, warpBeside;

private:
  /// Rows of a matrix in shared memory.
  struct Rows {
    const AttentionMatrix *matrix = nullptr;
    unsigned group = 0;
    int64_t width = 0, size = 0; ///< of the matrix; rows of a tile
    Value memory;
    Value outer, lane, turnedLane; ///< of this thread
    int64_t columns() const { return static_cast<int64_t>(llvm::alignTo(width, kDepth)); }
    int64_t pitch() const;
  };

  /// Panels of a tile: distinct values that products read.
  static size_t countPanels(const FusedAttention &fused);

  static SmallVector<Rows> collectStreamed(const FusedAttention &fused, int64_t size);
  static SmallVector<Rows> collectOwn(const FusedAttention &fused, Plan plan);
  void prepare(Rows &rows);
  const Rows &findOwn(const AttentionMatrix &matrix, int64_t width) const;
  Rows &find(const AttentionMatrix &matrix, int64_t width);
  void load(const Rows &rows, Value first, Value target);
  void load(Value number);
  SmallVector<Value> loadFromTile(const AttentionProduct &product, int64_t row, int64_t column,
                                  bool isTurned, Value further);

  KernelEmitter &emitter;
  const FusedAttention &fused;
  int64_t threads;
  AttentionTile *tile = nullptr;
  SmallVector<Rows> streamed, own, panels;
  SmallVector<unsigned> loaded; ///< of `streamed`: those of this pass
  Value end;                    ///< of this pass
  Value stage;                  ///< tiles ahead of the current one in shared memory
};

} // namespace mlir::cuda

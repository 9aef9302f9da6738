// Operands of tensor cores in shared memory.
#pragma once

#include "backends/cuda/codegen/attention/AttentionPlan.h"
#include "backends/cuda/codegen/attention/AttentionTile.h"

namespace mlir::cuda {

/// Shared memory holds the matrices along the reduction loop, one tile at a time, and those along
/// the parallel loop that do not fit registers. Where the elements of 16 bytes are contiguous, the
/// copy of the next tile overlaps the work on the current one. A row is followed by 16 bytes of
/// padding, so that eight rows that are read together are in different banks.
class CoreOperands {
public:
  /// Rows and depth of one tensor-core product; columns that are read together.
  static constexpr int64_t kRows = 16, kDepth = 16;

  /// Distribution of a tile over a block.
  struct Plan {
    int64_t streamedSize; ///< rows of a tile along the reduction loop
    int64_t stages;       ///< tiles in shared memory: two for asynchronous copies
    int64_t cores;        ///< vertically adjacent products of 16 rows per warp
    unsigned kept;        ///< bit mask of the producers whose parallel operands are in registers
    int64_t parallelSize = AttentionTile::kSize; ///< rows of a tile along the parallel loop
    /// Warps that share rows. Each has a part of the tile's columns, and of the columns of the
    /// consumers' results.
    int64_t warpsPerRow = 1;

    bool keeps(size_t producer) const { return kept >> producer & 1; }
    int64_t warps() const { return parallelSize / (kRows * cores) * warpsPerRow; }
    int64_t columnsOfWarp() const { return streamedSize / warpsPerRow; }
  };
  /// Distribution of a tile's contribution to a crossing product over warps: each has `rows` of the
  /// tile along the reduction loop and `columns` of the result. Zero rows: no distribution exists.
  struct CrossingShare {
    int64_t rows = 0, columns = 0;
  };
  static CrossingShare shareCrossing(const AttentionProduct &product, Plan plan);

  /// Returns true if all operands of the reduction loop can be copied 16 bytes at a time.
  static bool canCopyAsync(const KernelEmitter &emitter, const FusedAttention &fused);
  /// Returns true if a plan fits this many bytes of shared memory, and divides its work over warps.
  static bool fits(const FusedAttention &fused, Plan plan, int64_t sharedBytes);
  /// Bytes of shared memory that a block reads and writes per 64 x 64 elements.
  static int64_t countBytes(const FusedAttention &fused, Plan plan);

  CoreOperands(KernelEmitter &emitter, const FusedAttention &fused, Plan plan);
  const Plan plan;

  /// Emits code ahead of all tiles.
  void begin(AttentionTile &tile, Value firstParallel);
  void beginPass(ArrayRef<AttentionProduct *> products, Value begin, Value end);
  void enterTile(Value number);

  /// First operand of one of this warp's products: 16 parallel indices, 16 of the depth.
  SmallVector<Value> getParallel(const AttentionProduct &product, int64_t core, int64_t depth);
  /// Second operands of two products of 8 columns: 16 indices of the reduction loop from `row` on,
  /// 16 of the depth.
  SmallVector<Value> getStreamed(const AttentionProduct &product, int64_t row, int64_t depth);
  /// Second operands of two products of 8 columns. The depth is 16 indices of the reduction loop
  /// from `depth` on. `further` is an additional row offset.
  SmallVector<Value> getStreamedTransposed(const AttentionProduct &product, int64_t depth,
                                           int64_t column, Value further = {});

  // Operands computed from the tile, rounded, if they are in shared memory. Columns are the tile's.
  bool sharesPanels() const { return plan.warpsPerRow > 1 || !fused.crossing.empty(); }
  /// Stores two adjacent elements of a row.
  void putPanel(size_t panel, Value row, Value column, Number pair);
  /// First operand of one of this warp's products, 16 columns from `column` on.
  SmallVector<Value> getPanel(size_t panel, int64_t core, Value column);
  /// First operand with the panel transposed: its columns are rows, its rows the depth.
  SmallVector<Value> getPanelTransposed(size_t panel, int64_t row, Value column);
  /// Second operands of two 8-column products of a crossing product. 16 rows of the block are the
  /// depth.
  SmallVector<Value> getCrossing(const AttentionProduct &product, int64_t row, Value column);

  /// Index of this thread's warp among those of other rows, and among those of the same rows.
  Value warpRow, warpColumn;

private:
  /// Rows of a matrix in shared memory.
  struct Rows {
    const AttentionMatrix *matrix = nullptr;
    unsigned group = 0;
    int64_t width = 0, size = 0; ///< of the matrix; rows of a tile in shared memory
    Value memory;
    Value outer, lane, transposedLane; ///< of this thread
    int64_t columns() const { return static_cast<int64_t>(llvm::alignTo(width, kDepth)); }
    int64_t pitch() const;
  };

  /// Number of distinct values of a tile that products read.
  static size_t countPanels(const FusedAttention &fused);

  static SmallVector<Rows> collectStreamed(const FusedAttention &fused, int64_t size);
  static SmallVector<Rows> collectParallel(const FusedAttention &fused, Plan plan);
  void prepare(Rows &rows);
  const Rows &findParallel(const AttentionMatrix &matrix, int64_t width) const;
  Rows &find(const AttentionMatrix &matrix, int64_t width);
  void load(const Rows &rows, Value first, Value target);
  void load(Value number);
  SmallVector<Value> loadFromTile(const AttentionProduct &product, int64_t row, int64_t column,
                                  bool isTransposed, Value further);

  KernelEmitter &emitter;
  const FusedAttention &fused;
  int64_t threads;
  AttentionTile *tile = nullptr;
  SmallVector<Rows> streamed, parallel, panels;
  SmallVector<unsigned> loaded; ///< indices in `streamed` of the operands of this pass
  Value end;                    ///< end of this pass
  Value stage;                  ///< stage of the current tile in shared memory
};

} // namespace mlir::cuda

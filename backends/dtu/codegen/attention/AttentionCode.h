// State shared by the parts of a fused attention-like kernel's code: blocks of streamed matrices,
// and results.
#pragma once

#include "backends/dtu/codegen/attention/AttentionPlan.h"
#include "backends/dtu/codegen/kernels/KernelContext.h"
#include "backends/dtu/codegen/kernels/LoopPlan.h"

namespace mlir::dtu {

class AttentionCode {
public:
  AttentionCode(ProgramBuilder &builder, const FusedAttention &fused, const AttentionTiling &tiling,
                const TileStorage &storage)
      : builder(builder), fused(fused), tiling(tiling), storage(storage),
        emitter(fused.program, storage),
        columns(fused.space.getSize(unsigned(fused.columnGroup()))),
        allRows(fused.space.getSize(unsigned(fused.rowGroup()))) {
    setDigits();
  }

  ProgramBuilder &builder;
  const FusedAttention &fused;
  const AttentionTiling &tiling;
  const TileStorage &storage;
  TileEmitter emitter;
  SmallVector<Expr> resultBases; // of the kernel
  int64_t columns, allRows;      // of the rows' space
  /// The items of work: all groups except the streamed one, outer to inner, ending with the
  /// parallel one, whose tile all workers share.
  SmallVector<TileDigit> digits;
  int64_t items = 1;

  void setBases(const KernelContext &context);
  /// The position of a worker's tile in an item, with all streamed elements. Elements of the
  /// parallel dimension are assigned to workers round-robin (`rowStep`) or in consecutive blocks.
  TilePosition positionOf(StreamBuilder &stream, const Expr &item) const;

  /// Blocks [begin, end) of columns or rows.
  struct Blocks {
    Expr begin, end;
  };
  /// The blocks of `size` streamed indices that have an element of `band` (streamed minus parallel
  /// index) for `count` parallel indices from `first` on. There are `length` streamed indices.
  static Blocks getBlocks(StreamBuilder &stream, const mlir::st::DiagonalBand &band,
                          const Expr &first, int64_t count, int64_t length, int64_t size);

  /// Queue: loads the worker's operands of the products that compute the tile.
  void loadRowOperands(const TilePosition &position) const;
  /// Queue: loads this worker's share of the matrix block of `block` columns at `start`, to all
  /// cores.
  void loadShare(const AttentionProduct &product, const TilePosition &position, const Expr &start,
                 int64_t block, const Expr &target) const;
  /// Queue: stores `rows` rows of a product's result, `rowStride` elements apart in L3, from `from`
  /// in L1.
  void storeResult(const AttentionProduct &product, hw::Extent rows, int64_t rowStride,
                   const TilePosition &position, const Expr &from) const;
  /// Core: rounds a result to its type if that is narrower than the matrix engine's f32.
  void round(const AttentionProduct &product, hw::Extent rows, const Expr &from,
             const Expr &to) const;

private:
  void setDigits();
};

/// Byte address of the tile's position in a tensor; a tile starts at column 0.
Expr rowAddress(StreamBuilder &dte, Expr address, ArrayRef<int64_t> strides,
                const TilePosition &position, int64_t bytes);

} // namespace mlir::dtu

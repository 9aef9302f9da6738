// Products of a fused attention-like kernel that contract its rows. Their operands stay in L2 until
// all rows of an iteration of the outer loops are complete. Then every worker computes some of the
// columns and iterates over all rows, block by block.
#pragma once

#include "backends/dtu/codegen/attention/AttentionCode.h"

namespace mlir::dtu {

class AttentionColumns {
public:
  explicit AttentionColumns(const AttentionCode &code)
      : code(code), builder(code.builder), fused(code.fused), tiling(code.tiling),
        rowBlocks(tiling.rowBlock == 0 ? 0 : llvm::divideCeil(code.allRows, tiling.rowBlock)) {
    mlir::st::DiagonalBand ofRows = fused.band.transpose();
    // Every column needs a row that initialises its sums.
    if (rowBlocks != 0 && ofRows.countTiles(code.columns, 1, code.allRows, kRows))
      band = ofRows;
  }

  /// Queue: stores the rows of a tile to L2.
  void storeRows(const TilePosition &position) const;
  /// Queue: loads the blocks of rows of one outer iteration into the memory of the core's tile.
  void load(const TilePosition &point) const;
  /// Core: computes its columns of all results and signals when they are complete.
  void multiply() const;
  /// Queue: stores the results while the core computes the next rows.
  void store(const TilePosition &point) const;

private:
  const AttentionCode &code;
  ProgramBuilder &builder;
  const FusedAttention &fused;
  const AttentionTiling &tiling;
  int64_t rowBlocks;
  mlir::st::DiagonalBand band; // of rows minus columns

  /// The granularity of ranges of rows, and the number of columns that share a range.
  static constexpr int64_t kRows = 16, kColumns = 64;

  /// Some of a worker's columns, and the rows [begin, end) that the mask keeps for them.
  struct Strip {
    int64_t first, size; ///< columns
    Expr begin, end;
  };

  hw::Extent ownColumns(StreamBuilder &stream) const;
  hw::Extent blockRows(StreamBuilder &stream, const Expr &block) const;
  /// Runs `body` for the row blocks of all products in order.
  void emitBlocks(StreamBuilder &stream,
                  llvm::function_ref<void(size_t index, Expr block, Expr slot)> body) const;
  void loadPanelPart(const AttentionProduct &product, const Expr &block, const Expr &slot) const;
  void multiplyStrip(const AttentionProduct &product, size_t index, const Strip &strip,
                     const Expr &block, const Expr &slot) const;
};

} // namespace mlir::dtu

// The products of a chain that contract its rows. What they read waits in L2 until all rows of a
// point of the outer loops are made. Then every worker takes some of the columns and runs through
// all rows, in blocks.
#pragma once

#include "backends/dtu/codegen/attention/ChainCode.h"

namespace mlir::dtu {

class ChainColumns {
public:
  explicit ChainColumns(const ChainCode &code)
      : code(code), builder(code.builder), chain(code.chain), tiling(code.tiling),
        rowBlocks(tiling.rowBlock == 0 ? 0 : llvm::divideCeil(code.allRows, tiling.rowBlock)) {}

  /// Queue: the rows of a tile to L2.
  void storeRows(const TilePosition &position) const;
  /// Queue: the blocks of rows of a point of the outer loops, to where the core had the tile.
  void load(const TilePosition &point) const;
  /// Core: its columns of all results, and says when they are there.
  void multiply() const;
  /// Queue: the results, while the core makes the next rows.
  void store(const TilePosition &point) const;

private:
  const ChainCode &code;
  ProgramBuilder &builder;
  const Chain &chain;
  const ChainTiling &tiling;
  int64_t rowBlocks;

  hw::Extent ownColumns(StreamBuilder &stream) const;
  hw::Extent blockRows(StreamBuilder &stream, const Expr &block) const;
  /// Runs `body` for the blocks of rows of all products in their order.
  void emitBlocks(StreamBuilder &stream,
                  llvm::function_ref<void(size_t index, Expr block, Expr slot)> body) const;
  void loadPanelPart(const ChainProduct &product, const Expr &block, const Expr &slot) const;
  void multiply(const ChainProduct &product, size_t index, const Expr &block,
                const Expr &slot) const;
};

} // namespace mlir::dtu

// What the parts of a chain's code share: the blocks of matrices that stream by, and results.
#pragma once

#include "backends/dtu/codegen/attention/ChainPlan.h"
#include "backends/dtu/codegen/kernels/KernelContext.h"

namespace mlir::dtu {

class ChainCode {
public:
  ChainCode(ProgramBuilder &builder, const Chain &chain, const ChainTiling &tiling,
            const TileStorage &storage)
      : builder(builder), chain(chain), tiling(tiling), storage(storage),
        emitter(chain.program, storage),
        columns(chain.space.getSize(unsigned(chain.columnGroup()))),
        allRows(chain.space.getSize(unsigned(chain.rowGroup()))) {}

  ProgramBuilder &builder;
  const Chain &chain;
  const ChainTiling &tiling;
  const TileStorage &storage;
  TileEmitter emitter;
  SmallVector<Expr> resultBases; // of the chain
  int64_t columns, allRows;      // of the rows' space

  /// Queue: this worker's share of the `block` points of a matrix from `start` on, to all cores.
  void loadShare(const ChainProduct &product, const TilePosition &position, const Expr &start,
                 int64_t block, const Expr &target) const;
  /// Queue: `rows` rows of a product's result, which lie at `from` in L1, to L3.
  void storeResult(const ChainProduct &product, hw::Extent rows, int64_t rowStride,
                   const TilePosition &position, const Expr &from) const;
  /// Core: a result in its type, where that is narrower than what the matrix engine leaves.
  void round(const ChainProduct &product, hw::Extent rows, const Expr &from, const Expr &to) const;
};

/// Byte address of the tile's position in a tensor; a tile starts at column 0.
Expr rowAddress(StreamBuilder &dte, Expr address, ArrayRef<int64_t> strides,
                const TilePosition &position, int64_t bytes);

} // namespace mlir::dtu

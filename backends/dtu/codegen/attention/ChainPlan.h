// A chain of products: which part of its body works on rows, how what its
// products read lies along those rows, and the tile that a core holds.
#pragma once

#include "backends/dtu/codegen/products/MatmulPlan.h"

#include "dialects/St/IR/StDialect.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::dtu {

/// A matrix in L3 along one group of the rows' space, which it streams by, and one dimension that
/// is no loop of theirs: the depth of a product that makes rows, the columns of another's result.
/// Strides in elements.
struct StreamedMatrix {
  unsigned argument = 0; // of the kernel's body
  int64_t offset = 0;
  SmallVector<int64_t> strides; // along the groups of the rows' space
  unsigned group = 0;           // that it streams along
  int64_t width = 0, widthStride = 0;
  hw::DType type = hw::DType::F32;
  bool streamInside = false; // in L1 the group is the inner dimension

  int64_t streamStride() const { return strides[group]; }
};

/// One product of the chain. `matrix` comes through L1 in blocks of columns, that of a product that
/// contracts the rows in blocks of rows.
struct ChainProduct {
  stablehlo::DotGeneralOp op;
  StreamedMatrix matrix;
  hw::DType type = hw::DType::F32; // of both operands in L1
  int value = -1;                  // of the rows' program: what the product makes or reads
  // Of one that makes rows: its other operand.
  MatmulOperand rows;
  // Of one that contracts the rows: what it reads lies in L2 until all rows are there.
  unsigned panel = 0;
  // Of one that reads rows: its result, in memory.
  unsigned result = 0;
  hw::DType resultType = hw::DType::F32;
  SmallVector<int64_t> resultStrides; // along the groups
  int64_t resultColumnStride = 0;
};

/// A value of rows of which L2 holds one point of the outer loops.
struct ChainPanel {
  int value = -1; // of the rows' program
  hw::DType type = hw::DType::F32;
};

/// The parts of a body of kind "chain".
struct Chain {
  /// A kernel of kind "loop" with the chain's arguments and, behind these, one in f32 for each
  /// product that makes rows. Its results are `stored`, then what the other products read.
  OwningOpRef<st::KernelOp> rows;
  SmallVector<unsigned> stored; // results of the chain that are values of rows
  /// `columnProducts` contract the rows: their results have a row for each column.
  SmallVector<ChainProduct, 0> producers, consumers, columnProducts;
  SmallVector<ChainPanel> panels;
  IterationSpace space;
  TileProgram program;

  int rowGroup() const { return static_cast<int>(space.getNumGroups()) - 2; }
  int columnGroup() const { return static_cast<int>(space.getNumGroups()) - 1; }
};

/// Fails with a diagnostic.
FailureOr<Chain> analyzeChain(Block &body);

/// Those that make rows, those that contract their columns, those that contract the rows.
SmallVector<ChainProduct *> getProducts(Chain &chain);

/// The sizes of a chain's tile, and where it lies in L1.
struct ChainTiling {
  int64_t rows = 0;  // of a core
  int64_t block = 0; // columns of a matrix at a time, a multiple of the number of workers
  // Byte offsets in L1 and behind the last.
  SmallVector<int64_t> rowOperands, results, rounded; // results in f32, and in their type
  int64_t resultBytes = 0;                            // of all results; they have two places
  int64_t blocks = 0, blockBytes = 0, end = 0;
  // Of the products that contract the rows: `share` columns of a worker, `rowBlock` rows at a time,
  // a multiple of the number of workers. A slot, of two, holds that part of a panel and behind it
  // the block of the matrix; both are where the tile was, and so are sums that are rounded.
  int64_t share = 0, rowBlock = 0, slots = 0, slotMatrix = 0, slotBytes = 0;
  SmallVector<int64_t> columnResults, columnRounded;
  SmallVector<int64_t> panels; // byte offsets in L2
  int64_t panelsEnd = 0;
};

/// The tiling with the least estimated time; nothing if none fits. `storage` is assigned.
std::optional<ChainTiling> chooseTiling(const Chain &chain, const TileStorage &storage,
                                        const Machine &machine);

} // namespace mlir::dtu

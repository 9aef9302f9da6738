// The plan of a fused attention-like kernel: the part of its body that computes rows, the layout of
// its products' operands along those rows, and the tile of a core.
#pragma once

#include "backends/dtu/codegen/products/MatmulPlan.h"

#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/Utils/DiagonalBand.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::dtu {

/// A matrix in L3 that is streamed along one group of the row space. Its other dimension is not a
/// loop of the rows: the depth of a product that computes rows, or the result columns of another
/// product. Strides are in elements.
struct StreamedMatrix {
  unsigned argument = 0; // of the kernel's body
  int64_t offset = 0;
  SmallVector<int64_t> strides; // along the groups of the rows' space
  unsigned group = 0;           // the group along which it is streamed
  int64_t width = 0, widthStride = 0;
  hw::DType type = hw::DType::F32;
  bool streamInside = false; // the group is the inner dimension in L1

  int64_t streamStride() const { return strides[group]; }
};

/// One product of the kernel. `matrix` passes through L1 in blocks of columns; for a product that
/// contracts the rows, in blocks of rows.
struct AttentionProduct {
  stablehlo::DotGeneralOp op;
  StreamedMatrix matrix;
  hw::DType type = hw::DType::F32; // of both operands in L1
  int value = -1;                  // index in the row program: the product's result or operand
  // For a product that computes rows: its other operand.
  MatmulOperand rows;
  // For a product that contracts the rows: its operand stays in L2 until all rows are complete.
  unsigned panel = 0;
  // For a product that consumes rows: its result, in memory.
  unsigned result = 0;
  hw::DType resultType = hw::DType::F32;
  SmallVector<int64_t> resultStrides; // along the groups
  int64_t resultColumnStride = 0;
};

/// A row value; L2 holds it for one outer iteration.
struct AttentionPanel {
  int value = -1; // index in the row program
  hw::DType type = hw::DType::F32;
};

/// The parts of a kernel of kind "attention".
struct FusedAttention {
  /// A kernel of kind "loop" with the fused kernel's arguments, followed by one f32 argument for
  /// each product that computes rows. Its results are `stored`, then the operands of the other
  /// products.
  OwningOpRef<st::KernelOp> rows;
  SmallVector<unsigned> stored; // results of the fused kernel that are row values
  /// `columnProducts` contract the rows: their results have one row per column.
  SmallVector<AttentionProduct, 0> producers, consumers, columnProducts;
  SmallVector<AttentionPanel> panels;
  IterationSpace space;
  TileProgram program;
  /// The elements to compute. All other elements of a tile are 0 if a product reads them.
  mlir::st::DiagonalBand band;

  /// Set if the rows pass through L1 in blocks: `consumers` are then the products that contract
  /// columns, or those that contract rows. Otherwise L1 holds full rows.
  bool isStreamed = false;
  /// Workers share the elements of `parallel`. The products' matrices stream along `streamed`.
  int parallel = -1, streamed = -1;

  int rowGroup() const { return static_cast<int>(space.getNumGroups()) - 2; }
  int columnGroup() const { return static_cast<int>(space.getNumGroups()) - 1; }
};

/// Fails with a diagnostic.
FailureOr<FusedAttention> analyzeAttention(Block &body);

/// Products that compute rows, then those that contract columns, then those that contract rows.
SmallVector<AttentionProduct *> getProducts(FusedAttention &fused);

/// Columns that a mask keeps are counted in multiples of this: an f32 vector.
constexpr int64_t kMaskedColumns = 32;

/// The tile sizes of a fused kernel, and the L1 layout.
struct AttentionTiling {
  int64_t rows = 0;  // per core
  int64_t block = 0; // matrix columns per block, a multiple of the number of workers
  // If a mask hides columns, workers take rows round-robin, `rowStep` apart, so that all have the
  // same work. They compute `strip` rows at a time: the columns that `band` keeps for them.
  mlir::st::DiagonalBand band;
  int64_t strip = 0, rowStep = 1;
  // Byte offsets in L1, followed by the end.
  SmallVector<int64_t> rowOperands, results, rounded; // results in f32, and in their type
  int64_t resultBytes = 0;                            // of all results, which are double-buffered
  int64_t blocks = 0, blockBytes = 0, end = 0;
  // For products that contract the rows: a worker has `share` columns and takes `rowBlock` rows at
  // a time, a multiple of the number of workers. Each of two slots holds that part of a panel,
  // followed by the block of the matrix. Both overwrite the tile, and so do sums that are rounded.
  int64_t share = 0, rowBlock = 0, slots = 0, slotMatrix = 0, slotBytes = 0;
  SmallVector<int64_t> columnResults, columnRounded;
  SmallVector<int64_t> panels; // byte offsets in L2
  int64_t panelsEnd = 0;
  // For streamed rows: the offset of each product's matrix in one half of the double buffer.
  SmallVector<int64_t> matrices;
};

/// The tiling with the lowest estimated time; nullopt if none fits. `storage` is assigned.
std::optional<AttentionTiling> chooseTiling(const FusedAttention &fused, const TileStorage &storage,
                                            const Machine &machine);

} // namespace mlir::dtu

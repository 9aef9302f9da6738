// A product as loops over batch, rows, columns and depth, and its tiling. Products of one left
// operand whose right operands have the same layout share the loops and each tile of the left
// operand.
#pragma once

#include "backends/dtu/codegen/kernels/LoopPlan.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"

#include <functional>
#include <map>
#include <vector>

namespace mlir::dtu {

/// An operand of a product, traced through views to an argument of the body.
struct OperandAccess {
  BlockArgument argument;
  int64_t offset = 0;
  SmallVector<int64_t> strides; // of each dimension of the operand
};

/// Follows transposes, slices, conversions and unit-dimension reshapes to an argument. Fails with a
/// diagnostic.
FailureOr<OperandAccess> traceOperand(Value value);

/// One operand of the product in memory. Strides in elements.
struct MatmulOperand {
  unsigned argument = 0;        // of the kernel's body
  int64_t offset = 0;           // elements
  SmallVector<int64_t> strides; // along the groups of the result's space
  SmallVector<int64_t> depth;   // along the contracted dimensions
  hw::DType type = hw::DType::F32;
  /// The depth is the outer dimension in L1.
  bool depthOutside = false;
};

struct MatmulShape {
  SmallVector<stablehlo::DotGeneralOp, 1> ops; // in the order of the body
  MatmulOperand lhs;
  SmallVector<MatmulOperand, 1> rhs; // of each product; they differ only in their offsets
  int rowGroup = -1, colGroup = -1;  // of the result's space
  SmallVector<int64_t> depthSizes;   // contracted dimensions, outer to inner, merged where possible
  hw::DType type = hw::DType::F32;   // in L1

  /// Stride of an operand along rows (of lhs) or columns (of rhs).
  int64_t lhsRowStride() const { return rowGroup < 0 ? 0 : lhs.strides[rowGroup]; }
  int64_t rhsColStride() const { return colGroup < 0 ? 0 : rhs.front().strides[colGroup]; }
  int64_t innerDepth() const { return depthSizes.empty() ? 1 : depthSizes.back(); }
};

/// Reads the body's products; forms the groups of its space. Fails with a diagnostic.
FailureOr<MatmulShape> analyzeMatmul(Block &body, IterationSpace &space);

/// The tiling of each product. Without a grid, every worker loads the operands of its tiles
/// directly from L3. With a grid, gridRows x gridCols workers share a block of gridRows x gridCols
/// tiles, and an operand that several of them need passes through L2, `chunk` depth steps at a
/// time.
struct MatmulTiling {
  int64_t rows = 0, cols = 0, depth = 0;
  unsigned resultSlots = 2;
  int64_t gridRows = 0, gridCols = 0, chunk = 1;

  bool isShared() const { return gridRows > 0; }
  bool sharesLhs() const { return gridCols > 1; }
  bool sharesRhs() const { return gridRows > 1; }
  bool sharesAny() const { return sharesLhs() || sharesRhs(); }
};

/// The work on each tile of the products' results.
struct MatmulEpilogue {
  /// Bytes of L1 with a number of slots, for a tile size.
  std::function<int64_t(unsigned slots, int64_t rows, int64_t cols)> bytes;
  int64_t ops = 0, transcendentals = 0; // vector instructions, and those among them that are
                                        // transcendental
  struct Moved {
    int64_t bytes;                // per element
    bool hasRows, hasCols;        // varies along rows or columns
    int64_t rowStride, colStride; // in L3, in bytes
  };
  SmallVector<Moved> loads, stores; // per tile
};

struct MatmulSizes;
MatmulSizes getSizes(const MatmulShape &shape, const IterationSpace &space);

/// The tilings of a machine's products. Equal products, as in each layer of a model, are searched
/// once.
class KnownTilings {
public:
  /// `machine` must outlive this.
  explicit KnownTilings(const Machine &machine) : machine(machine) {}

  /// The tiling with the least simulated time. Among tilings of about equal time, the one that a
  /// host simulates fastest. Returns std::nullopt if none fits.
  std::optional<MatmulTiling> choose(const MatmulSizes &sizes, const MatmulEpilogue &epilogue);

private:
  const Machine &machine;
  /// By all inputs of the search.
  std::map<std::vector<int64_t>, std::optional<MatmulTiling>> known;
};

} // namespace mlir::dtu

// A product as loops over batch, rows, columns and depth, and the tiles to cut it into. Products of
// one left operand whose right ones are alike share the loops, and each tile of that operand.
#pragma once

#include "backends/dtu/codegen/kernels/LoopPlan.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"

#include <functional>

namespace mlir::dtu {

/// An operand of a product as it lies in an argument of the body: views looked through.
struct OperandAccess {
  BlockArgument argument;
  int64_t offset = 0;
  SmallVector<int64_t> strides; // of each dimension of the operand
};

/// Follows transposes, slices, conversions and unit-dimension reshapes down to an argument. Fails
/// with a diagnostic.
FailureOr<OperandAccess> traceOperand(Value value);

/// Strides of both operands along the axes of the result, whose dimensions are batch, rows,
/// columns; `result` is what stands for it in the space.
std::pair<IterationSpace::AxisStrides, IterationSpace::AxisStrides>
getResultStrides(stablehlo::DotGeneralOp dot, Value result, const IterationSpace &space,
                 const OperandAccess &lhs, const OperandAccess &rhs);

/// One operand of the product in memory. Strides in elements.
struct MatmulOperand {
  unsigned argument = 0;        // of the kernel's body
  int64_t offset = 0;           // elements
  SmallVector<int64_t> strides; // along the groups of the result's space
  SmallVector<int64_t> depth;   // along the contracted dimensions
  hw::DType type = hw::DType::F32;
  /// Stored in L1 with the depth as the outer dimension.
  bool depthOutside = false;
};

struct MatmulShape {
  SmallVector<stablehlo::DotGeneralOp, 1> ops; // in the order of the body
  MatmulOperand lhs;
  SmallVector<MatmulOperand, 1> rhs; // of each product; only where they start differs
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

/// How each product is cut. Without a grid every worker takes whole tiles, wherever they lie,
/// straight from L3. With one, the workers stand in gridRows x gridCols over a block of as many
/// tiles, and an operand that several of them need comes through L2, `chunk` steps of depth at a
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

/// What is done with each tile of the products.
struct MatmulEpilogue {
  /// Footprint in L1 with a number of slots, for a tile size.
  std::function<int64_t(unsigned slots, int64_t rows, int64_t cols)> bytes;
  int64_t ops = 0, transcendentals = 0; // vector instructions, and those of them that are slow
  struct Moved {
    int64_t bytes;                // of an element
    bool hasRows, hasCols;        // or is one for all
    int64_t rowStride, colStride; // in L3, in bytes
  };
  SmallVector<Moved> loads, stores; // with each tile
};

struct MatmulSizes;
MatmulSizes getSizes(const MatmulShape &shape, const IterationSpace &space);

/// The tiling with the least simulated time; of those that are about as fast, the one that a host
/// simulates fastest; nothing if none fits.
std::optional<MatmulTiling> chooseTiling(const MatmulSizes &sizes, const Machine &machine,
                                         const MatmulEpilogue &epilogue);

} // namespace mlir::dtu

// A kernel's body as vector instructions on tiles.
//
// Tiles iterate over the groups of the space: `rowGroup` and `colGroup` are the two dimensions of a
// tile, and every other group is iterated element by element. A value is stored only along the
// groups along which it varies, so a broadcast is free: it is an operand with stride 0.
//
// A value has one of three rates: step values are computed with every tile, item values once per
// inner reduction loop, invariant values once.
#pragma once

#include "backends/dtu/codegen/emission/StreamBuilder.h"
#include "backends/dtu/codegen/kernels/VectorOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"

#include "mlir/IR/Block.h"

namespace mlir::dtu {

using mlir::st::denseStrides;
using mlir::st::GroupSet;
using mlir::st::isArgumentSlice;
using mlir::st::IterationSpace;

/// The orientation of a tile in the space: the groups of its rows and columns (-1: none) and its
/// size.
struct TileShape {
  int rowGroup = -1, colGroup = -1;
  int64_t rows = 1, cols = 1;
  /// Narrow rows have an odd pitch, so that vectors along columns access different banks of L1.
  bool padsRows = false;

  /// Elements between consecutive rows.
  int64_t rowPitch() const {
    constexpr int64_t kNarrow = 32; // elements of a vector of the commonest types
    return padsRows && cols < kNarrow ? cols | 1 : cols;
  }
  bool hasRows(GroupSet groups) const { return rowGroup >= 0 && (groups >> rowGroup & 1); }
  bool hasCols(GroupSet groups) const { return colGroup >= 0 && (groups >> colGroup & 1); }
  /// Elements that a value occupies.
  int64_t elements(GroupSet groups) const {
    if (hasRows(groups) && hasCols(groups))
      return rows * rowPitch();
    return hasRows(groups) ? rows : hasCols(groups) ? cols : 1;
  }
};

/// The position of a tile, in one stream.
struct TilePosition {
  SmallVector<Expr> at;  // of each group, in elements
  hw::Extent rows, cols; // the extents of the tile there
  Expr firstCol = 0;     // of the tile, in buffers of more columns
  int64_t firstRow = 0;  // of the tile, in buffers of more rows
  int64_t rowStep = 1;   // elements of the row group from one row of the tile to the next
  Expr slot = 0;         // which half of the double buffers
};

enum class Rate { Invariant, Item, Step };

/// A value in L1.
struct TileValue {
  enum class Kind { Constant, Input, Accumulator, Computed } kind = Kind::Computed;
  GroupSet groups = 0; // along which it varies
  hw::DType type = hw::DType::F32;
  uint64_t bits = 0;            // of a constant
  unsigned argument = 0;        // of an input: the body's argument,
  int64_t offset = 0;           // the element of the argument at which it starts,
  SmallVector<int64_t> strides; // and the strides in elements along each group
  int level = 0;                // reductions that must be complete before it
  Rate rate = Rate::Step;
};

/// A value as an op reads it; its bits may be read as another type.
struct TileRef {
  int value = -1;
  hw::DType type = hw::DType::F32;
};

struct TileOp {
  hw::VectorOp op = hw::VectorOp::Copy;
  int dst = -1;
  hw::DType dstType = hw::DType::F32;
  SmallVector<TileRef, 3> sources;
  GroupSet groups = 0; // iterated groups; for a reduction, those of its operand
  std::optional<Reduction> reduction;
  int iotaGroup = -1;
};

/// A result of the kernel.
struct TileOutput {
  TileRef ref;
  unsigned result = 0;
  GroupSet groups = 0;          // the groups its type spans
  SmallVector<int64_t> strides; // in elements, along each group
};

class TileProgram {
public:
  SmallVector<TileValue> values;
  SmallVector<TileOp> ops; // in topological order
  SmallVector<TileOutput> outputs;

  /// Translates the values that the terminator of `body` needs. `accumulators`: values that the
  /// matrix engine leaves in f32 (results of the body's products). Fails with a diagnostic that
  /// names an op without a vector instruction.
  static FailureOr<TileProgram> build(Block &body, const IterationSpace &space,
                                      ValueRange accumulators = {});

  /// Sets how often each value is computed, given the groups that advance with each step and with
  /// each item.
  void setRates(GroupSet stepGroups, GroupSet itemGroups);

  /// The largest number of reductions that depend on each other in sequence.
  int getNumLevels() const;
  /// The reduced groups; std::nullopt if two reductions reduce different groups.
  std::optional<GroupSet> getReducedGroups() const;
};

} // namespace mlir::dtu

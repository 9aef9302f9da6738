// The loop structure of a loop kernel: which groups tiles span, their sizes, and the work that
// workers share.
#pragma once

#include "backends/dtu/codegen/kernels/TileStorage.h"

namespace mlir::dtu {

/// One digit of a mixed-radix counter over tiles: a group split into `count` tiles of `tile`.
struct TileDigit {
  unsigned group = 0;
  int64_t tile = 1, count = 1;
};

/// The start of tile number `index` of the digits, outer to inner, in each of `groups` groups.
SmallVector<Expr> tileStart(StreamBuilder &stream, ArrayRef<TileDigit> digits, unsigned groups,
                            const Expr &index);

struct LoopPlan {
  TileShape shape;
  SmallVector<TileDigit> items; // outer to inner; distributed over the workers
  SmallVector<TileDigit> steps; // the reduction within an item; empty if it fits a tile
  /// The workers share the steps instead of the items and combine partial results in L2. There is
  /// one item then.
  bool split = false;
  SmallVector<TilePhase, 0> phases;

  int64_t numItems() const { return product(items); }
  int64_t numSteps() const { return product(steps); }

private:
  static int64_t product(ArrayRef<TileDigit> digits) {
    int64_t result = 1;
    for (const TileDigit &digit : digits)
      result *= digit.count;
    return result;
  }
};

/// Sets the rates for passes over the groups `steps` in each iteration of `items`. Results of
/// reductions over the steps are item values.
void setPassRates(TileProgram &program, GroupSet steps, GroupSet items);

/// The passes over the groups `steps`, which the program's reductions reduce. Pass p computes the
/// reductions of level p + 1. The last pass with outputs for every step computes all such outputs,
/// so that an output may overwrite an input that earlier passes read.
SmallVector<TilePhase, 0> collectPasses(const TileProgram &program, GroupSet steps);

/// Plans a program and sets its rates; `storage` is assigned and placed. Fails with a message.
llvm::Expected<LoopPlan> planLoop(TileProgram &program, TileStorage &storage,
                                  const IterationSpace &space, const Machine &machine);

} // namespace mlir::dtu

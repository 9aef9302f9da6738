// The loop structure of a loop kernel: which groups tiles span, their sizes, and what the workers
// share.
#pragma once

#include "backends/dtu/codegen/kernels/TileStorage.h"

namespace mlir::dtu {

/// One digit of a mixed-radix counter over tiles: a group split into `count` tiles of `tile`.
struct TileDigit {
  unsigned group = 0;
  int64_t tile = 1, count = 1;
};

struct LoopPlan {
  TileShape shape;
  SmallVector<TileDigit> items; // outer to inner; distributed over the workers
  SmallVector<TileDigit> steps; // the reduction within an item; empty if it fits a tile
  /// The workers share the steps instead of the items and combine partial results in L2. There is
  /// one item then.
  bool split = false;
  SmallVector<TilePhase> phases;

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

/// Plans a program and sets its rates; `storage` is assigned and placed. Fails with a message.
llvm::Expected<LoopPlan> planLoop(TileProgram &program, TileStorage &storage,
                                  const IterationSpace &space, const Machine &machine);

} // namespace mlir::dtu

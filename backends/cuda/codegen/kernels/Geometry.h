// Distribution of a kernel's work over blocks and threads. docs/cuda.md states the rule.
#pragma once

#include "dialects/StableHLO/Utils/IterationSpace.h"

#include <cstdint>

namespace mlir::cuda {

/// The properties of a kernel on which its geometry depends.
struct Work {
  int64_t kept = 1;    ///< elements of a result that is not reduced, or rows of one that is
  int64_t reduced = 1; ///< elements over which each of them is reduced
  bool isReduction = false;
  bool reducesInnermost = false; ///< the reduced elements are contiguous in memory
  int64_t innermost = 1;         ///< size of the innermost loop, contiguous in memory
  int64_t bytes = 4;             ///< of the widest element read or written
};

/// Describes a body that, if `isReduction`, reduces the groups `reduced` of its space. The order of
/// its reductions does not matter.
Work describeWork(const st::IterationSpace &space, st::GroupSet reduced, bool isReduction,
                  Block &body);

struct Geometry {
  int64_t width = 1;   ///< adjacent elements that a thread handles at once, up to 16 bytes
  int64_t threads = 1; ///< per block
  int64_t sharers =
      1; ///< threads of a block that share one result; a power of two if they are adjacent
  int64_t chunks = 1;     ///< vectors of `width` that each sharer reduces
  bool isResident = true; ///< a thread holds all its chunks in registers and reads memory once
  int64_t blocks = 1;
};

Geometry chooseGeometry(const Work &work);

} // namespace mlir::cuda

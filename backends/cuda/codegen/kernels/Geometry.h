// How a kernel's work is cut into blocks and threads. docs/cuda.md states the rule.
#pragma once

#include "dialects/StableHLO/Utils/IterationSpace.h"

#include <cstdint>

namespace mlir::cuda {

/// What a kernel does, as far as its geometry depends on it.
struct Work {
  int64_t kept =
      1; ///< points that a result has: elements, or rows where a reduction takes their columns
  int64_t reduced = 1; ///< points that each of them is reduced over
  bool isReduction = false;
  bool reducesInnermost = false; ///< neighbours in memory are reduced
  int64_t innermost = 1;         ///< points of the innermost loop, neighbours in memory
  int64_t bytes = 4;             ///< of the widest element that is read or written
};

/// Of a body that reduces, if it does, some of its space's groups, whatever the order of its
/// reductions.
Work describeWork(const st::IterationSpace &space, st::GroupSet reduced, bool isReduction,
                  Block &body);

struct Geometry {
  int64_t width = 1;   ///< neighbours that a thread handles at once: up to 16 bytes
  int64_t threads = 1; ///< of a block
  int64_t sharers =
      1; ///< threads of a block that share one result: a power of two where they are neighbours
  int64_t chunks = 1;     ///< vectors of `width` that each of them reduces
  bool isResident = true; ///< a thread holds all its chunks in registers: memory is read once
  int64_t blocks = 1;
};

Geometry chooseGeometry(const Work &work);

} // namespace mlir::cuda

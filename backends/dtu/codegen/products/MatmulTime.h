// The time of a tiled product, on the device and on a host that simulates it.
#pragma once

#include "backends/dtu/codegen/emission/Machine.h"
#include "backends/dtu/codegen/products/MatmulPlan.h"

namespace mlir::dtu {

/// An operand in L3: bytes per element, and byte strides along the result's rows or columns and
/// along the depth.
struct MatmulSource {
  int64_t width = 4, free = 4, depth = 4;
  bool depthOutside = false; // the depth is the outer dimension in L1
};

/// A product, or several with one lhs and equal shapes, as input of the tiling search.
struct MatmulSizes {
  int64_t outer = 1;                 // size of the groups other than rows and columns
  int64_t rows = 1, cols = 1;        // of the result
  int64_t depth = 1, outerDepth = 1; // size of the inner contracted dimension, and of all others
                                     // together
  int64_t width = 4;                 // bytes of an element of an operand in L1
  int64_t products = 1;              // of one lhs, each with an rhs and a result
  MatmulSource lhs, rhs;
};

/// Bytes of L2 that one chunk of all panels takes.
int64_t panelBytes(const MatmulSizes &sizes, const MatmulTiling &tiling);

/// Returns nanoseconds of simulated time with all clusters of the chip busy. Follows the queue and
/// the core of a worker step by step, in the order in which MatmulKernel emits their code.
double matmulTime(const MatmulSizes &sizes, const MatmulTiling &tiling, const Machine &machine,
                  const MatmulEpilogue &epilogue);

/// Approximate nanoseconds of host processor time: instruction overhead, bytes copied, and
/// products.
double matmulHostTime(const MatmulSizes &sizes, const MatmulTiling &tiling, const Machine &machine);

} // namespace mlir::dtu

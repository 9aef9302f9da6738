// What a tiled product takes, on the device and on a host that simulates it.
#pragma once

#include "backends/dtu/codegen/emission/Machine.h"
#include "backends/dtu/codegen/products/MatmulPlan.h"

namespace mlir::dtu {

/// An operand in L3: bytes of an element, and bytes from one to the next along the result's rows or
/// columns and along the depth.
struct MatmulSource {
  int64_t width = 4, free = 4, depth = 4;
  bool depthOutside = false; // the depth is the outer dimension in L1
};

/// A product, or several alike of one lhs, as tilings see it.
struct MatmulSizes {
  int64_t outer = 1;                 // points of the groups besides rows and columns
  int64_t rows = 1, cols = 1;        // of the result
  int64_t depth = 1, outerDepth = 1; // the inner contracted dimension, and points of the others
  int64_t width = 4;                 // bytes of an element of an operand in L1
  int64_t products = 1;              // of one lhs, each with an rhs and a result
  MatmulSource lhs, rhs;
};

/// Bytes of L2 that one chunk of all panels takes.
int64_t panelBytes(const MatmulSizes &sizes, const MatmulTiling &tiling);

/// Nanoseconds of simulated time, all clusters of the chip at work: the queue and the core of a
/// worker step by step, as MatmulKernel has them.
double matmulTime(const MatmulSizes &sizes, const MatmulTiling &tiling, const Machine &machine,
                  const MatmulEpilogue &epilogue);

/// Nanoseconds of a host's processor, roughly: what each instruction costs besides, bytes copied,
/// products.
double matmulHostTime(const MatmulSizes &sizes, const MatmulTiling &tiling, const Machine &machine);

} // namespace mlir::dtu

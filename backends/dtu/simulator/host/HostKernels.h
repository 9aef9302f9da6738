// Native routines the data path runs tile instructions with. The hot ones exist
// once for each host instruction set (FastKernels.cpp, compiled three times);
// the rest is compiled once (GenericKernels.cpp). No kernel checks bounds: its
// caller has.
#pragma once

#include "backends/dtu/isa/Isa.h"
#include "backends/dtu/simulator/host/HostIsa.h"

#include <cstdint>

namespace st::dtu {

/// Operands of a tile op. Columns lie side by side, or (scalar) every column of
/// a row is the same element; reductions write consecutive elements.
struct TileArgs {
  uint8_t *dst = nullptr;
  const uint8_t *src[3] = {};
  int64_t rows = 0, cols = 0;
  int64_t dstRow = 0, srcRow[3] = {}; ///< bytes between rows
  bool scalar[3] = {};
  bool accumulate = false; ///< reductions: combine with what dst holds
};
using TileKernel = void (*)(const TileArgs &);

/// Converts `count` consecutive elements.
using ConvertKernel = void (*)(void *dst, const void *src, int64_t count);

/// dst[c][r] = src[r][c]; strides in bytes.
using TransposeKernel = void (*)(void *dst, const void *src, int64_t rows, int64_t cols,
                                 int64_t dstStride, int64_t srcStride);

/// C[m,n] (+)= A[m,k] B[k,n], all row-major f32 with leading dimensions in elements.
using MatmulKernel = void (*)(float *c, const float *a, const float *b, int64_t m, int64_t n,
                              int64_t k, int64_t ldc, int64_t lda, int64_t ldb, bool accumulate);

/// The kernels of one host instruction set. Null where it has none of its own.
struct HostKernels {
  TileKernel (*vector)(VectorOp op, DType type) = nullptr;
  ConvertKernel (*convert)(DType to, DType from) = nullptr;
  TransposeKernel transpose4 = nullptr;
  MatmulKernel matmul = nullptr;
};

/// What this host runs, at most.
HostIsa widestHostIsa();
const HostKernels &hostKernels(HostIsa isa);

/// Looks an op up in `kernels`, then among the generic ones. Arithmetic in bf16 and
/// f16 has no kernels: callers convert to f32 and back.
TileKernel findVectorKernel(const HostKernels &kernels, VectorOp op, DType type);
ConvertKernel findConvertKernel(const HostKernels &kernels, DType to, DType from);
TransposeKernel findTransposeKernel(const HostKernels &kernels, unsigned elementBytes);

// The generic ones, and the three instances of the fast ones.
TileKernel genericVectorKernel(VectorOp op, DType type);
ConvertKernel genericConvertKernel(DType to, DType from);
TransposeKernel genericTransposeKernel(unsigned elementBytes);
const HostKernels &baselineKernels();
const HostKernels &avx2Kernels();
const HostKernels &avx512Kernels();

} // namespace st::dtu

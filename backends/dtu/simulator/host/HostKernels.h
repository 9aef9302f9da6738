// Native routines for tile instructions. The hot ones exist once for each host instruction set
// (FastKernels.cpp, compiled three times, and Bf16Matmul.cpp, compiled twice); the rest is compiled
// once (GenericKernels.cpp). No kernel checks bounds; its caller has done so.
#pragma once

#include "backends/dtu/isa/Isa.h"
#include "backends/dtu/simulator/host/HostIsa.h"

#include <cstdint>

namespace st::dtu {

/// Operands of a tile op. Columns are contiguous, or (scalar) every column of a row is the same
/// element. Reductions write consecutive elements.
struct TileArgs {
  uint8_t *dst = nullptr;
  const uint8_t *src[3] = {};
  int64_t rows = 0, cols = 0;
  int64_t dstRow = 0, srcRow[3] = {}; ///< bytes between rows
  bool scalar[3] = {};
  bool accumulate = false; ///< for reductions: combine with the contents of dst
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

/// A matrix of bf16, its rows as stored `stride` elements apart.
struct Bf16Operand {
  const uint16_t *data;
  int64_t stride;
  bool transposed;
};

// Sizes of the parts of A (m, k) and B (k, n) that are packed at once, to fit the host's L2 cache.
constexpr int64_t kBf16BlockM = 256, kBf16BlockN = 512, kBf16BlockK = 512;
/// Bytes of A's part and of B's, packed: rows or columns in strips of 16, k in steps of 32.
constexpr int64_t bf16PackedBytes(int64_t rows, int64_t k) {
  return (rows + 15) / 16 * 16 * ((k + 31) / 32 * 32) * 2;
}
constexpr int64_t kBf16PackedABytes = bf16PackedBytes(kBf16BlockM, kBf16BlockK),
                  kBf16PackedBBytes = bf16PackedBytes(kBf16BlockN, kBf16BlockK);

/// Buffers for the packed operands of a bf16 product.
struct Bf16Scratch {
  uint8_t *a;     ///< kBf16PackedABytes
  uint8_t *b;     ///< kBf16PackedBBytes, or the packed size of B if it is one block
  bool isPackedB; ///< b already holds all of B as one block
};

/// C[m,n] (+)= A[m,k] B[k,n] of bf16 operands; transposed, A is stored [k,m] and B [n,k].
using Bf16MatmulKernel = void (*)(float *c, int64_t ldc, Bf16Operand a, Bf16Operand b, int64_t m,
                                  int64_t n, int64_t k, bool accumulate, Bf16Scratch scratch);

/// The kernels of one host instruction set. Null if the set has no special kernel.
struct HostKernels {
  TileKernel (*vector)(VectorOp op, DType type) = nullptr;
  ConvertKernel (*convert)(DType to, DType from) = nullptr;
  TransposeKernel transpose4 = nullptr;
  MatmulKernel matmul = nullptr;
  Bf16MatmulKernel bf16Matmul = nullptr; ///< null: converted to f32 first
};

/// Host properties that decide the instruction set.
struct HostFeatures {
  bool avx2 = false, avx512 = false, avx512Bf16 = false;
  bool amx = false; ///< the processor has it and the system lets this process use it
  /// avx512Bf16 sums pairs of bf16 at twice the rate of f32, as on AMD's processors; the measured
  /// Intel processors reach half of that rate (docs/performance.md).
  bool fastBf16Pairs = false;
};

/// Features of this host. The first call requests the tile registers from the system.
HostFeatures hostFeatures();
HostIsa widestHostIsa(const HostFeatures &features);
/// The widest instruction set that this host runs.
HostIsa widestHostIsa();
/// The set that Auto selects: the widest, but Avx512Bf16 only if it is faster.
HostIsa fastestHostIsa(const HostFeatures &features);
HostIsa fastestHostIsa();
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
void avx512Bf16Matmul(float *c, int64_t ldc, Bf16Operand a, Bf16Operand b, int64_t m, int64_t n,
                      int64_t k, bool accumulate, Bf16Scratch scratch);
void amxBf16Matmul(float *c, int64_t ldc, Bf16Operand a, Bf16Operand b, int64_t m, int64_t n,
                   int64_t k, bool accumulate, Bf16Scratch scratch);

} // namespace st::dtu

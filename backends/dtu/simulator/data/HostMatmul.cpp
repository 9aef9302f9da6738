#include "backends/dtu/simulator/data/HostMatmul.h"

#include "backends/dtu/simulator/data/HostBuffer.h"

#include <libxsmm.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace st::dtu {
namespace {

/// Converts the rows of a matrix to contiguous f32.
const float *convertRows(const uint8_t *data, int64_t stride, DType type, int64_t rows,
                         int64_t cols, unsigned slot, const HostKernels &kernels) {
  float *out = reinterpret_cast<float *>(threadScratch(slot, rows * cols * 4));
  ConvertKernel convert = findConvertKernel(kernels, DType::F32, type);
  for (int64_t r = 0; r < rows; ++r)
    convert(out + r * cols, data + r * stride * 2, cols);
  return out;
}

} // namespace

uint8_t *threadScratch(unsigned slot, int64_t bytes) {
  static thread_local HostBuffer buffers[kScratchSlots];
  return buffers[slot].grow(bytes);
}

HostMatmul::HostMatmul(HostIsa isa, const HostKernels &kernels)
    : useLibxsmm(isa != HostIsa::Baseline), kernels(kernels) {
  if (!useLibxsmm)
    return;
  libxsmm_init();
  libxsmm_set_target_archid(isa >= HostIsa::Avx512 ? LIBXSMM_X86_AVX512_CORE : LIBXSMM_X86_AVX2);
}

// Larger products run block by block, so that the operands of a block stay in the host's L2 cache.
// Column blocks are multiples of 64 and k blocks run in order, so the sums equal those of the
// unblocked product.
constexpr int64_t kBlockM = 96, kBlockN = 256, kBlockK = 256;
/// Operand bytes beyond which a product is blocked; larger than any device's L1.
constexpr int64_t kLargeBytes = int64_t(3) << 18;

/// Copies a block of a matrix with a large stride to contiguous rows.
const float *packRows(float *to, const float *from, int64_t stride, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(to + r * cols, from + r * stride, static_cast<size_t>(cols * 4));
  return to;
}

void HostMatmul::runBlocks(float *c, int64_t ldc, const float *a, int64_t lda, bool transposeA,
                           const float *b, int64_t ldb, int64_t m, int64_t n, int64_t k,
                           bool accumulate) const {
  float *packedA = reinterpret_cast<float *>(threadScratch(4, m * kBlockK * 4));
  float *packedB = reinterpret_cast<float *>(threadScratch(5, kBlockK * kBlockN * 4));
  for (int64_t l = 0; l < k; l += kBlockK) {
    const int64_t kb = std::min(kBlockK, k - l), strideA = transposeA ? m : kb;
    const float *blockA = transposeA ? packRows(packedA, a + l * lda, lda, kb, m)
                                     : packRows(packedA, a + l, lda, m, kb);
    for (int64_t j = 0; j < n; j += kBlockN) {
      const int64_t nb = std::min(kBlockN, n - j);
      const float *blockB = packRows(packedB, b + l * ldb + j, ldb, kb, nb);
      for (int64_t i = 0; i < m; i += kBlockM)
        runBlock(c + i * ldc + j, ldc, blockA + (transposeA ? i : i * strideA), strideA, transposeA,
                 blockB, nb, std::min(kBlockM, m - i), nb, kb, accumulate || l > 0);
    }
  }
}

void HostMatmul::runBlock(float *c, int64_t ldc, const float *a, int64_t lda, bool transposeA,
                          const float *b, int64_t ldb, int64_t m, int64_t n, int64_t k,
                          bool accumulate) const {
  if (useLibxsmm && runLibxsmm(c, ldc, a, lda, transposeA, b, ldb, m, n, k, accumulate))
    return;
  if (transposeA) {
    float *packed = reinterpret_cast<float *>(threadScratch(3, k * m * 4));
    kernels.transpose4(packed, a, k, m, k * 4, lda * 4);
    a = packed;
    lda = k;
  }
  kernels.matmul(c, a, b, m, n, k, ldc, lda, ldb, accumulate);
}

bool HostMatmul::runLibxsmm(float *c, int64_t ldc, const float *a, int64_t lda, bool transposeA,
                            const float *b, int64_t ldb, int64_t m, int64_t n, int64_t k,
                            bool accumulate) const {
  // libxsmm is column-major: for row-major matrices it computes C' = B' A', so A is its second
  // operand.
  constexpr int64_t limit = std::numeric_limits<int>::max();
  if (m > limit || n > limit || k > limit || lda > limit || ldb > limit || ldc > limit)
    return false;
  libxsmm_blasint strideB = static_cast<libxsmm_blasint>(ldb);
  libxsmm_blasint strideA = static_cast<libxsmm_blasint>(lda);
  libxsmm_blasint strideC = static_cast<libxsmm_blasint>(ldc);
  float alpha = 1, beta = accumulate ? 1 : 0;
  int flags = transposeA ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  libxsmm_smmfunction kernel =
      libxsmm_smmdispatch(static_cast<libxsmm_blasint>(n), static_cast<libxsmm_blasint>(m),
                          static_cast<libxsmm_blasint>(k), &strideB, &strideA, &strideC, &alpha,
                          &beta, &flags, &prefetch);
  if (!kernel)
    return false;
  kernel(b, a, c);
  return true;
}

int64_t HostMatmul::packedBytes(const Operand &b, DType type, int64_t n, int64_t k) const {
  if (type == DType::BF16 && kernels.bf16Matmul)
    return n <= kBf16BlockN && k <= kBf16BlockK ? bf16PackedBytes(n, k) : 0;
  // Rows with a large stride conflict in the host's caches, and each is read again for every few
  // rows of A.
  const bool isPacked = type == DType::F32 && (b.transposed || (k > 1 && b.stride != n));
  return isPacked ? k * n * 4 : 0;
}

void HostMatmul::run(float *c, int64_t ldc, Operand a, Operand b, DType type, int64_t m, int64_t n,
                     int64_t k, bool accumulate, PackedB packed) const {
  if (type == DType::BF16 && kernels.bf16Matmul) {
    auto bf16 = [](const Operand &o) {
      return Bf16Operand{reinterpret_cast<const uint16_t *>(o.data), o.stride, o.transposed};
    };
    Bf16Scratch scratch = {threadScratch(0, kBf16PackedABytes), packed.data, packed.isFilled};
    if (!scratch.b)
      scratch.b = threadScratch(1, kBf16PackedBBytes);
    kernels.bf16Matmul(c, ldc, bf16(a), bf16(b), m, n, k, accumulate, scratch);
    return;
  }
  const float *af = reinterpret_cast<const float *>(a.data);
  const float *bf = reinterpret_cast<const float *>(b.data);
  if (type != DType::F32) {
    int64_t aRows = a.transposed ? k : m, aCols = a.transposed ? m : k;
    int64_t bRows = b.transposed ? n : k, bCols = b.transposed ? k : n;
    af = convertRows(a.data, a.stride, type, aRows, aCols, 0, kernels);
    bf = convertRows(b.data, b.stride, type, bRows, bCols, 1, kernels);
    a.stride = aCols;
    b.stride = bCols;
  }
  if (b.transposed && !packed.data)
    packed.data = threadScratch(2, k * n * 4);
  if (packed.data) {
    auto *to = reinterpret_cast<float *>(packed.data);
    if (!packed.isFilled && b.transposed)
      kernels.transpose4(packed.data, bf, n, k, n * 4, b.stride * 4);
    else if (!packed.isFilled)
      packRows(to, bf, b.stride, k, n);
    bf = to;
    b.stride = n;
  }
  const bool isLarge = (m * k + k * n) * 4 > kLargeBytes;
  (this->*(isLarge ? &HostMatmul::runBlocks : &HostMatmul::runBlock))(
      c, ldc, af, a.stride, a.transposed, bf, b.stride, m, n, k, accumulate);
}

} // namespace st::dtu

// The kernels that dominate training time, compiled once for each host instruction set:
// ST_HOST_KERNELS names the accessor of this copy. Compiled with -ffp-contract=off, so that the
// copies agree to the last bit.
#include "backends/dtu/simulator/host/Conversions.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

#define ST_F32_UNARY(Name, expression)                                                             \
  struct Name {                                                                                    \
    ST_INLINE float apply(float x) { return expression; }                                          \
  }
ST_F32_UNARY(Exp, expf32(x));
ST_F32_UNARY(Expm1, expm1f32(x));
ST_F32_UNARY(Log, logf32(x));
ST_F32_UNARY(Log1p, log1pf32(x));
ST_F32_UNARY(Logistic, logisticf32(x));
ST_F32_UNARY(Tanh, tanhf32(x));
ST_F32_UNARY(Sqrt, __builtin_sqrtf(x));
ST_F32_UNARY(Rsqrt, rsqrtf32(x));
ST_F32_UNARY(Cbrt, cbrtf32(x));
ST_F32_UNARY(Erf, erff32(x));
ST_F32_UNARY(Erfc, erfcf32(x));
ST_F32_UNARY(Floor, __builtin_floorf(x));
ST_F32_UNARY(Ceil, __builtin_ceilf(x));
ST_F32_UNARY(RoundEven, __builtin_roundevenf(x));
#undef ST_F32_UNARY

/// Rounds half away from zero.
struct Round {
  ST_INLINE float apply(float x) {
    float t = __builtin_floorf(__builtin_fabsf(x));
    t = __builtin_fabsf(x) - t >= 0.5f ? t + 1.0f : t;
    return x != x ? x : __builtin_copysignf(t, x);
  }
};
struct IsFinite {
  ST_INLINE uint8_t apply(float x) { return __builtin_fabsf(x) < kInfinity; }
};
struct Div {
  ST_INLINE float apply(float x, float y) { return x / y; }
};
struct Pow {
  ST_INLINE float apply(float x, float y) { return powf32(x, y); }
};

/// Sine or cosine. Arguments too large for reduction in f64 go to the C library.
template <uint64_t Quadrant> void sincosTile(const TileArgs &t) {
  for (int64_t r = 0; r < t.rows; ++r) {
    float *dst = reinterpret_cast<float *>(t.dst + r * t.dstRow);
    const float *a = reinterpret_cast<const float *>(t.src[0] + r * t.srcRow[0]);
    int64_t step = t.scalar[0] ? 0 : 1;
    constexpr int64_t block = 256;
    float input[block];
    for (int64_t c = 0; c < t.cols; c += block) {
      int64_t n = t.cols - c < block ? t.cols - c : block;
      for (int64_t i = 0; i < n; ++i)
        input[i] = a[(c + i) * step];
      ST_VECTOR_LOOP for (int64_t i = 0; i < n; ++i) dst[c + i] = sincosf32(input[i], Quadrant);
      for (int64_t i = 0; i < n; ++i)
        if (!(__builtin_fabsf(input[i]) < 0x1p30f)) {
          double x = static_cast<double>(input[i]);
          dst[c + i] = static_cast<float>(Quadrant ? __builtin_cos(x) : __builtin_sin(x));
        }
    }
  }
}

TileKernel floatKernel(VectorOp op) {
  switch (op) {
  case VectorOp::Exp:
    return unaryTile<float, float, Exp>;
  case VectorOp::Expm1:
    return unaryTile<float, float, Expm1>;
  case VectorOp::Log:
    return unaryTile<float, float, Log>;
  case VectorOp::Log1p:
    return unaryTile<float, float, Log1p>;
  case VectorOp::Logistic:
    return unaryTile<float, float, Logistic>;
  case VectorOp::Tanh:
    return unaryTile<float, float, Tanh>;
  case VectorOp::Sqrt:
    return unaryTile<float, float, Sqrt>;
  case VectorOp::Rsqrt:
    return unaryTile<float, float, Rsqrt>;
  case VectorOp::Cbrt:
    return unaryTile<float, float, Cbrt>;
  case VectorOp::Erf:
    return unaryTile<float, float, Erf>;
  case VectorOp::Erfc:
    return unaryTile<float, float, Erfc>;
  case VectorOp::Sin:
    return sincosTile<0>;
  case VectorOp::Cos:
    return sincosTile<1>;
  case VectorOp::Floor:
    return unaryTile<float, float, Floor>;
  case VectorOp::Ceil:
    return unaryTile<float, float, Ceil>;
  case VectorOp::Round:
    return unaryTile<float, float, Round>;
  case VectorOp::RoundEven:
    return unaryTile<float, float, RoundEven>;
  case VectorOp::IsFinite:
    return unaryTile<uint8_t, float, IsFinite>;
  case VectorOp::Div:
    return binaryTile<float, float, Div>;
  case VectorOp::Pow:
    return binaryTile<float, float, Pow>;
  default:
    return arithmeticKernel<float>(op);
  }
}

template <typename T> TileKernel integerKernel(VectorOp op) {
  if (TileKernel kernel = arithmeticKernel<T>(op))
    return kernel;
  if (TileKernel kernel = bitwiseKernel<T>(op))
    return kernel;
  return shiftKernel<T>(op);
}

TileKernel vectorKernel(VectorOp op, DType type) {
  switch (type) {
  case DType::F32:
    return floatKernel(op);
  case DType::I32:
    return integerKernel<int32_t>(op);
  case DType::U32:
    return integerKernel<uint32_t>(op);
  default:
    return nullptr;
  }
}

st::dtu::ConvertKernel convertKernel(DType to, DType from) {
  auto is = [&](DType a, DType b) { return to == a && from == b; };
  if (is(DType::BF16, DType::F32))
    return convertRow<BF16, float>;
  if (is(DType::F32, DType::BF16))
    return convertRow<float, BF16>;
  if (is(DType::F16, DType::F32))
    return convertRow<F16, float>;
  if (is(DType::F32, DType::F16))
    return convertRow<float, F16>;
  if (is(DType::F32, DType::I32))
    return convertRow<float, int32_t>;
  if (is(DType::F32, DType::U32))
    return convertRow<float, uint32_t>;
  if (is(DType::I32, DType::F32))
    return convertRow<int32_t, float>;
  if (is(DType::F32, DType::I1))
    return convertRow<float, Bool>;
  return nullptr;
}

// ---- transposition of 4-byte elements -----------------------------------------

ST_INLINE uint8_t *at(void *base, int64_t offset) { return static_cast<uint8_t *>(base) + offset; }
ST_INLINE const uint8_t *at(const void *base, int64_t offset) {
  return static_cast<const uint8_t *>(base) + offset;
}

void transposeScalar4(void *dst, const void *src, int64_t rows, int64_t cols, int64_t dstStride,
                      int64_t srcStride) {
  for (int64_t c = 0; c < cols; ++c)
    for (int64_t r = 0; r < rows; ++r)
      __builtin_memcpy(at(dst, c * dstStride + r * 4), at(src, r * srcStride + c * 4), 4);
}

#if defined(__AVX2__)
constexpr int64_t kBlock = 8;
/// Transposes an 8 x 8 block in registers: exchanges pairs, quadruples, then halves.
ST_INLINE void transposeBlock(void *dst, const void *src, int64_t dstStride, int64_t srcStride) {
  __m256 row[8], pair[8], quad[8];
  for (int i = 0; i < 8; ++i)
    row[i] = _mm256_loadu_ps(reinterpret_cast<const float *>(at(src, i * srcStride)));
  for (int i = 0; i < 8; i += 2) {
    pair[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
    pair[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
    quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xee);
    quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
    quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    __m256 low = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20);
    __m256 high = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31);
    _mm256_storeu_ps(reinterpret_cast<float *>(at(dst, i * dstStride)), low);
    _mm256_storeu_ps(reinterpret_cast<float *>(at(dst, (i + 4) * dstStride)), high);
  }
}
#else
constexpr int64_t kBlock = 4;
ST_INLINE void transposeBlock(void *dst, const void *src, int64_t dstStride, int64_t srcStride) {
  transposeScalar4(dst, src, kBlock, kBlock, dstStride, srcStride);
}
#endif

void transpose4(void *dst, const void *src, int64_t rows, int64_t cols, int64_t dstStride,
                int64_t srcStride) {
  int64_t fullRows = rows / kBlock * kBlock, fullCols = cols / kBlock * kBlock;
  // Strips of 16 source columns, so that all of a cache line is read before it is evicted.
  for (int64_t c0 = 0; c0 < fullCols; c0 += 16)
    for (int64_t r = 0; r < fullRows; r += kBlock)
      for (int64_t c = c0; c < c0 + 16 && c < fullCols; c += kBlock)
        transposeBlock(at(dst, c * dstStride + r * 4), at(src, r * srcStride + c * 4), dstStride,
                       srcStride);
  transposeScalar4(at(dst, fullRows * 4), at(src, fullRows * srcStride), rows - fullRows, fullCols,
                   dstStride, srcStride);
  transposeScalar4(at(dst, fullCols * dstStride), at(src, fullCols * 4), rows, cols - fullCols,
                   dstStride, srcStride);
}

// ---- matrix product without libxsmm -------------------------------------------

void matmul(float *c, const float *a, const float *b, int64_t m, int64_t n, int64_t k, int64_t ldc,
            int64_t lda, int64_t ldb, bool accumulate) {
  constexpr int64_t strip = 64;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j0 = 0; j0 < n; j0 += strip) {
      int64_t width = n - j0 < strip ? n - j0 : strip;
      float sum[strip];
      for (int64_t j = 0; j < strip; ++j)
        sum[j] = accumulate && j < width ? c[i * ldc + j0 + j] : 0.0f;
      for (int64_t l = 0; l < k; ++l) {
        float x = a[i * lda + l];
        const float *row = b + l * ldb + j0;
        if (width == strip)
          ST_VECTOR_LOOP for (int64_t j = 0; j < strip; ++j) sum[j] = fma(x, row[j], sum[j]);
        else
          for (int64_t j = 0; j < width; ++j)
            sum[j] = fma(x, row[j], sum[j]);
      }
      for (int64_t j = 0; j < width; ++j)
        c[i * ldc + j0 + j] = sum[j];
    }
}

} // namespace

namespace st::dtu {

const HostKernels &ST_HOST_KERNELS() {
  static const HostKernels kernels = {vectorKernel, convertKernel, transpose4, matmul, nullptr};
  return kernels;
}

} // namespace st::dtu

// Kernels of every type and op that FastKernels.cpp does not cover, compiled once for the baseline
// host.
#include "backends/dtu/simulator/host/Conversions.h"

#include "backends/dtu/isa/Names.h"

#include <cmath>

namespace {

struct Div {
  template <typename T> static T apply(T x, T y) {
    if constexpr (kIsFloat<T>) {
      return x / y;
    } else {
      // A quotient by zero has all bits set; the lowest value divided by -1 is that value.
      if (y == 0)
        return static_cast<T>(~Wrapping<T>(0));
      if (Traits<T>::isSigned && y == T(-1))
        return Neg::apply(x);
      return static_cast<T>(x / y);
    }
  }
};
struct Rem {
  template <typename T> static T apply(T x, T y) {
    if constexpr (kIsFloat<T>) {
      return std::fmod(x, y);
    } else {
      if (y == 0)
        return x;
      if (Traits<T>::isSigned && y == T(-1))
        return T(0);
      return static_cast<T>(x % y);
    }
  }
};
struct Pow {
  template <typename T> static T apply(T x, T y) {
    if constexpr (kIsFloat<T>) {
      return std::pow(x, y);
    } else {
      if (Traits<T>::isSigned && y < T(0)) {
        // 1 / x^|y|, truncated.
        bool odd = static_cast<Unsigned<T>>(y) & 1;
        return x == T(1) ? T(1) : x == T(-1) ? (odd ? T(-1) : T(1)) : T(0);
      }
      T result = T(1);
      for (Unsigned<T> n = static_cast<Unsigned<T>>(y); n; n >>= 1) {
        if (n & 1)
          result = Mul::apply(result, x);
        x = Mul::apply(x, x);
      }
      return result;
    }
  }
};

// ---- f64: the C library does ---------------------------------------------------

template <double (*F)(double)> struct Call {
  static double apply(double x) { return F(x); }
};
double logistic(double x) {
  double e = std::exp(-std::fabs(x));
  return x != x ? x : (x < 0 ? e : 1.0) / (1.0 + e);
}
double rsqrt(double x) { return 1.0 / std::sqrt(x); }
struct IsFinite {
  static uint8_t apply(double x) { return std::isfinite(x); }
};

TileKernel doubleUnaryKernel(VectorOp op) {
  switch (op) {
  case VectorOp::Exp:
    return unaryTile<double, double, Call<std::exp>>;
  case VectorOp::Expm1:
    return unaryTile<double, double, Call<std::expm1>>;
  case VectorOp::Log:
    return unaryTile<double, double, Call<std::log>>;
  case VectorOp::Log1p:
    return unaryTile<double, double, Call<std::log1p>>;
  case VectorOp::Logistic:
    return unaryTile<double, double, Call<logistic>>;
  case VectorOp::Tanh:
    return unaryTile<double, double, Call<std::tanh>>;
  case VectorOp::Sqrt:
    return unaryTile<double, double, Call<std::sqrt>>;
  case VectorOp::Rsqrt:
    return unaryTile<double, double, Call<rsqrt>>;
  case VectorOp::Cbrt:
    return unaryTile<double, double, Call<std::cbrt>>;
  case VectorOp::Erf:
    return unaryTile<double, double, Call<std::erf>>;
  case VectorOp::Erfc:
    return unaryTile<double, double, Call<std::erfc>>;
  case VectorOp::Sin:
    return unaryTile<double, double, Call<std::sin>>;
  case VectorOp::Cos:
    return unaryTile<double, double, Call<std::cos>>;
  case VectorOp::Floor:
    return unaryTile<double, double, Call<std::floor>>;
  case VectorOp::Ceil:
    return unaryTile<double, double, Call<std::ceil>>;
  case VectorOp::Round:
    return unaryTile<double, double, Call<std::round>>;
  case VectorOp::RoundEven:
    return unaryTile<double, double, Call<std::nearbyint>>;
  case VectorOp::IsFinite:
    return unaryTile<uint8_t, double, IsFinite>;
  default:
    return nullptr;
  }
}

template <typename T> TileKernel divisionKernel(VectorOp op) {
  switch (op) {
  case VectorOp::Div:
    return binaryTile<T, T, Div>;
  case VectorOp::Rem:
    return binaryTile<T, T, Rem>;
  case VectorOp::Pow:
    return binaryTile<T, T, Pow>;
  default:
    return nullptr;
  }
}

template <typename T> TileKernel integerKernel(VectorOp op) {
  if (TileKernel kernel = arithmeticKernel<T>(op))
    return kernel;
  if (TileKernel kernel = bitwiseKernel<T>(op))
    return kernel;
  if (TileKernel kernel = divisionKernel<T>(op))
    return kernel;
  return shiftKernel<T>(op);
}

TileKernel boolKernel(VectorOp op) {
  switch (op) {
  case VectorOp::Copy:
    return unaryTile<Bool, Bool, Identity>;
  case VectorOp::Add:
  case VectorOp::Max:
    return binaryTile<Bool, Bool, Or>;
  case VectorOp::Mul:
  case VectorOp::Min:
    return binaryTile<Bool, Bool, And>;
  case VectorOp::Select:
    return ternaryTile<Bool, uint8_t, Select>;
  case VectorOp::Clamp:
    return ternaryTile<Bool, Bool, Clamp>;
  default:
    break;
  }
  if (TileKernel kernel = bitwiseKernel<Bool>(op))
    return kernel;
  if (TileKernel kernel = compareKernel<Bool>(op))
    return kernel;
  return reductionKernel<Bool>(op);
}

// ---- conversions and transpositions --------------------------------------------

template <typename D> st::dtu::ConvertKernel convertFrom(DType from) {
  constexpr st::dtu::ConvertKernel kernels[st::dtu::kNumDTypes] = {
      convertRow<D, Bool>,     convertRow<D, int8_t>,   convertRow<D, uint8_t>,
      convertRow<D, int16_t>,  convertRow<D, uint16_t>, convertRow<D, int32_t>,
      convertRow<D, uint32_t>, convertRow<D, int64_t>,  convertRow<D, uint64_t>,
      convertRow<D, BF16>,     convertRow<D, F16>,      convertRow<D, float>,
      convertRow<D, double>};
  return kernels[static_cast<unsigned>(from)];
}

template <typename T>
void transpose(void *dst, const void *src, int64_t rows, int64_t cols, int64_t dstStride,
               int64_t srcStride) {
  constexpr int64_t block = 16;
  for (int64_t r0 = 0; r0 < rows; r0 += block)
    for (int64_t c0 = 0; c0 < cols; c0 += block)
      for (int64_t c = c0; c < c0 + block && c < cols; ++c)
        for (int64_t r = r0; r < r0 + block && r < rows; ++r)
          reinterpret_cast<T *>(static_cast<uint8_t *>(dst) + c * dstStride)[r] =
              reinterpret_cast<const T *>(static_cast<const uint8_t *>(src) + r * srcStride)[c];
}

} // namespace

namespace st::dtu {

TileKernel genericVectorKernel(VectorOp op, DType type) {
  switch (type) {
  case DType::I1:
    return boolKernel(op);
  case DType::I8:
    return integerKernel<int8_t>(op);
  case DType::U8:
    return integerKernel<uint8_t>(op);
  case DType::I16:
    return integerKernel<int16_t>(op);
  case DType::U16:
    return integerKernel<uint16_t>(op);
  case DType::I32:
    return divisionKernel<int32_t>(op);
  case DType::U32:
    return divisionKernel<uint32_t>(op);
  case DType::I64:
    return integerKernel<int64_t>(op);
  case DType::U64:
    return integerKernel<uint64_t>(op);
  case DType::F32:
    return op == VectorOp::Rem ? binaryTile<float, float, Rem> : nullptr;
  case DType::F64:
    if (TileKernel kernel = arithmeticKernel<double>(op))
      return kernel;
    if (TileKernel kernel = divisionKernel<double>(op))
      return kernel;
    return doubleUnaryKernel(op);
  default:
    return nullptr;
  }
}

ConvertKernel genericConvertKernel(DType to, DType from) {
  switch (to) {
  case DType::I1:
    return convertFrom<Bool>(from);
  case DType::I8:
    return convertFrom<int8_t>(from);
  case DType::U8:
    return convertFrom<uint8_t>(from);
  case DType::I16:
    return convertFrom<int16_t>(from);
  case DType::U16:
    return convertFrom<uint16_t>(from);
  case DType::I32:
    return convertFrom<int32_t>(from);
  case DType::U32:
    return convertFrom<uint32_t>(from);
  case DType::I64:
    return convertFrom<int64_t>(from);
  case DType::U64:
    return convertFrom<uint64_t>(from);
  case DType::BF16:
    return convertFrom<BF16>(from);
  case DType::F16:
    return convertFrom<F16>(from);
  case DType::F32:
    return convertFrom<float>(from);
  case DType::F64:
    return convertFrom<double>(from);
  }
  return nullptr;
}

TransposeKernel genericTransposeKernel(unsigned elementBytes) {
  switch (elementBytes) {
  case 1:
    return transpose<uint8_t>;
  case 2:
    return transpose<uint16_t>;
  case 4:
    return transpose<uint32_t>;
  default:
    return transpose<uint64_t>;
  }
}

} // namespace st::dtu

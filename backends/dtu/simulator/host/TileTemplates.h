// Tile kernels as templates over an op and its types: loops over rows and columns
// that a compiler vectorises. The same restrictions as VectorMath.h apply: it is
// included by translation units compiled for different instruction sets, so
// everything has internal linkage and no C++ library template is used.
#pragma once

#include "backends/dtu/simulator/host/HostKernels.h"
#include "backends/dtu/simulator/host/VectorMath.h"

namespace {

using st::dtu::DType;
using st::dtu::TileArgs;
using st::dtu::TileKernel;
using st::dtu::VectorOp;

// dst may equal a source tile, which is safe in every loop; nothing else overlaps. Two vectors at a
// time: with more, the longer functions spill registers.
#define ST_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety) interleave_count(2)")

template <typename T> struct Traits {
  static constexpr bool isFloat = false;
  static constexpr bool isSigned = T(-1) < T(0);
  static constexpr unsigned bits = 8 * sizeof(T);
};
template <> struct Traits<float> {
  static constexpr bool isFloat = true, isSigned = true;
  static constexpr unsigned bits = 32;
};
template <> struct Traits<double> {
  static constexpr bool isFloat = true, isSigned = true;
  static constexpr unsigned bits = 64;
};
template <typename T> constexpr bool kIsFloat = Traits<T>::isFloat;

template <unsigned Bytes> struct UnsignedOf;
template <> struct UnsignedOf<1> {
  using Type = uint8_t;
  using Signed = int8_t;
};
template <> struct UnsignedOf<2> {
  using Type = uint16_t;
  using Signed = int16_t;
};
template <> struct UnsignedOf<4> {
  using Type = uint32_t;
  using Signed = int32_t;
};
template <> struct UnsignedOf<8> {
  using Type = uint64_t;
  using Signed = int64_t;
};
template <typename T> using Unsigned = typename UnsignedOf<sizeof(T)>::Type;
template <typename T> using Signed = typename UnsignedOf<sizeof(T)>::Signed;
// Wide enough that an intermediate promotion to int cannot overflow.
template <typename T> using Wrapping = typename UnsignedOf<sizeof(T) < 4 ? 4 : sizeof(T)>::Type;

/// i1: one byte, 0 or 1, with logical arithmetic.
struct Bool {
  uint8_t value;
};

// ---- loops --------------------------------------------------------------------
// Each loop works on a copy of the arguments. Otherwise a compiler must assume that a store through
// dst may change the loop's bounds.

template <typename D, typename S, typename Op> void unaryTile(const TileArgs &args) {
  const TileArgs t = args;
  for (int64_t r = 0; r < t.rows; ++r) {
    D *dst = reinterpret_cast<D *>(t.dst + r * t.dstRow);
    const S *a = reinterpret_cast<const S *>(t.src[0] + r * t.srcRow[0]);
    if (t.scalar[0]) {
      D value = Op::apply(*a);
      ST_VECTOR_LOOP for (int64_t c = 0; c < t.cols; ++c) dst[c] = value;
    } else {
      ST_VECTOR_LOOP for (int64_t c = 0; c < t.cols; ++c) dst[c] = Op::apply(a[c]);
    }
  }
}

template <typename D, typename S, typename Op> void binaryTile(const TileArgs &args) {
  const TileArgs t = args;
  for (int64_t r = 0; r < t.rows; ++r) {
    D *dst = reinterpret_cast<D *>(t.dst + r * t.dstRow);
    const S *a = reinterpret_cast<const S *>(t.src[0] + r * t.srcRow[0]);
    const S *b = reinterpret_cast<const S *>(t.src[1] + r * t.srcRow[1]);
    if (!t.scalar[0] && !t.scalar[1]) {
      ST_VECTOR_LOOP for (int64_t c = 0; c < t.cols; ++c) dst[c] = Op::apply(a[c], b[c]);
    } else if (!t.scalar[0]) {
      S y = *b;
      ST_VECTOR_LOOP for (int64_t c = 0; c < t.cols; ++c) dst[c] = Op::apply(a[c], y);
    } else if (!t.scalar[1]) {
      S x = *a;
      ST_VECTOR_LOOP for (int64_t c = 0; c < t.cols; ++c) dst[c] = Op::apply(x, b[c]);
    } else {
      D value = Op::apply(*a, *b);
      ST_VECTOR_LOOP for (int64_t c = 0; c < t.cols; ++c) dst[c] = value;
    }
  }
}

/// One row; a scalar operand is one element for all columns.
template <bool ScalarP, bool ScalarA, bool ScalarB, typename Op, typename D, typename P>
void ternaryRow(D *dst, const P *p, const D *a, const D *b, int64_t cols) {
  const P x = *p;
  const D y = *a, z = *b;
  ST_VECTOR_LOOP for (int64_t c = 0; c < cols; ++c) dst[c] =
      Op::apply(ScalarP ? x : p[c], ScalarA ? y : a[c], ScalarB ? z : b[c]);
}

/// P is the type of the first operand: i1 for select, else the op's own.
template <typename D, typename P, typename Op> void ternaryTile(const TileArgs &args) {
  using Row = void (*)(D *, const P *, const D *, const D *, int64_t);
  static constexpr Row rows[] = {
      ternaryRow<false, false, false, Op, D, P>, ternaryRow<false, false, true, Op, D, P>,
      ternaryRow<false, true, false, Op, D, P>,  ternaryRow<false, true, true, Op, D, P>,
      ternaryRow<true, false, false, Op, D, P>,  ternaryRow<true, false, true, Op, D, P>,
      ternaryRow<true, true, false, Op, D, P>,   ternaryRow<true, true, true, Op, D, P>,
  };
  const TileArgs t = args;
  if (t.cols <= 0)
    return;
  const Row row = rows[t.scalar[0] * 4 + t.scalar[1] * 2 + t.scalar[2]];
  for (int64_t r = 0; r < t.rows; ++r)
    row(reinterpret_cast<D *>(t.dst + r * t.dstRow),
        reinterpret_cast<const P *>(t.src[0] + r * t.srcRow[0]),
        reinterpret_cast<const D *>(t.src[1] + r * t.srcRow[1]),
        reinterpret_cast<const D *>(t.src[2] + r * t.srcRow[2]), t.cols);
}

/// dst[r] = fold of row r, in the order Isa.h documents: lane c mod 16, then
/// halves onto halves.
template <typename T, typename Op> void rowReduce(const TileArgs &args) {
  const TileArgs t = args;
  constexpr int lanes = 16;
  for (int64_t r = 0; r < t.rows; ++r) {
    const T *a = reinterpret_cast<const T *>(t.src[0] + r * t.srcRow[0]);
    T partial[lanes];
    for (int l = 0; l < lanes; ++l)
      partial[l] = Op::identity();
    int64_t c = 0, step = t.scalar[0] ? 0 : 1;
    if (step)
      for (; c + lanes <= t.cols; c += lanes)
        ST_VECTOR_LOOP for (int l = 0; l < lanes; ++l) partial[l] = Op::apply(partial[l], a[c + l]);
    for (; c < t.cols; ++c)
      partial[c % lanes] = Op::apply(partial[c % lanes], a[c * step]);
    for (int half = lanes / 2; half; half /= 2)
      for (int l = 0; l < half; ++l)
        partial[l] = Op::apply(partial[l], partial[l + half]);
    T *dst = reinterpret_cast<T *>(t.dst + r * t.dstRow);
    *dst = t.accumulate ? Op::apply(*dst, partial[0]) : partial[0];
  }
}

/// dst[c] = fold of column c, top to bottom, a strip of columns at a time.
template <typename T, typename Op> void colReduce(const TileArgs &args) {
  const TileArgs t = args;
  constexpr int64_t strip = 64;
  T *dst = reinterpret_cast<T *>(t.dst);
  int64_t step = t.scalar[0] ? 0 : 1;
  for (int64_t c = 0; c < t.cols; c += strip) {
    int64_t width = t.cols - c < strip ? t.cols - c : strip;
    T partial[strip];
    for (int64_t i = 0; i < strip; ++i)
      partial[i] = Op::identity();
    int64_t r = 0;
    auto row = [&](int64_t at) {
      return reinterpret_cast<const T *>(t.src[0] + at * t.srcRow[0]) + c * step;
    };
    // Four rows at a time, in order, so that partial folds are loaded and stored once.
    for (; step && r + 4 <= t.rows; r += 4) {
      const T *a0 = row(r), *a1 = row(r + 1), *a2 = row(r + 2), *a3 = row(r + 3);
      ST_VECTOR_LOOP for (int64_t i = 0; i < width; ++i) partial[i] =
          Op::apply(Op::apply(Op::apply(Op::apply(partial[i], a0[i]), a1[i]), a2[i]), a3[i]);
    }
    for (; r < t.rows; ++r) {
      const T *a = row(r);
      for (int64_t i = 0; i < width; ++i)
        partial[i] = Op::apply(partial[i], a[i * step]);
    }
    for (int64_t i = 0; i < width; ++i)
      dst[c + i] = t.accumulate ? Op::apply(dst[c + i], partial[i]) : partial[i];
  }
}

// ---- ops ----------------------------------------------------------------------

#define ST_UNARY(Name, expression)                                                                 \
  struct Name {                                                                                    \
    template <typename T> ST_INLINE T apply(T x) { return T(expression); }                         \
  }
#define ST_BINARY(Name, expression)                                                                \
  struct Name {                                                                                    \
    template <typename T> ST_INLINE T apply(T x, T y) { return T(expression); }                    \
  }
#define ST_COMPARE(Name, op)                                                                       \
  struct Name {                                                                                    \
    template <typename T> ST_INLINE uint8_t apply(T x, T y) { return x op y; }                     \
    ST_INLINE uint8_t apply(Bool x, Bool y) { return x.value op y.value; }                         \
  }

ST_COMPARE(CmpEq, ==);
ST_COMPARE(CmpNe, !=);
ST_COMPARE(CmpLt, <);
ST_COMPARE(CmpLe, <=);
ST_COMPARE(CmpGt, >);
ST_COMPARE(CmpGe, >=);

struct Identity {
  template <typename T> ST_INLINE T apply(T x) { return x; }
};
struct Neg {
  template <typename T> ST_INLINE T apply(T x) {
    if constexpr (kIsFloat<T>)
      return -x;
    else
      return static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(x));
  }
};
struct Abs {
  template <typename T> ST_INLINE T apply(T x) {
    if constexpr (kIsFloat<T>)
      return sizeof(T) == 4 ? T(__builtin_fabsf(static_cast<float>(x))) : T(__builtin_fabs(x));
    else
      return x < T(0) ? Neg::apply(x) : x;
  }
};
struct Sign {
  template <typename T> ST_INLINE T apply(T x) {
    // NaN and both zeros are returned unchanged.
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
  }
};
struct Add {
  template <typename T> static constexpr T identity() { return T(0); }
  template <typename T> ST_INLINE T apply(T x, T y) {
    if constexpr (kIsFloat<T>)
      return x + y;
    else
      return static_cast<T>(static_cast<Wrapping<T>>(x) + static_cast<Wrapping<T>>(y));
  }
  ST_INLINE Bool apply(Bool x, Bool y) { return {uint8_t(x.value | y.value)}; }
};
struct Sub {
  template <typename T> ST_INLINE T apply(T x, T y) {
    if constexpr (kIsFloat<T>)
      return x - y;
    else
      return static_cast<T>(static_cast<Wrapping<T>>(x) - static_cast<Wrapping<T>>(y));
  }
};
struct Mul {
  template <typename T> ST_INLINE T apply(T x, T y) {
    if constexpr (kIsFloat<T>)
      return x * y;
    else
      return static_cast<T>(static_cast<Wrapping<T>>(x) * static_cast<Wrapping<T>>(y));
  }
  ST_INLINE Bool apply(Bool x, Bool y) { return {uint8_t(x.value & y.value)}; }
};
struct MulAdd {
  template <typename T> ST_INLINE T apply(T x, T y, T z) { return Add::apply(Mul::apply(x, y), z); }
};
/// The larger, NaN if either is.
struct Max {
  template <typename T> ST_INLINE T apply(T x, T y) { return ((x > y) | (x != x)) ? x : y; }
  ST_INLINE Bool apply(Bool x, Bool y) { return {uint8_t(x.value | y.value)}; }
};
struct Min {
  template <typename T> ST_INLINE T apply(T x, T y) { return ((x < y) | (x != x)) ? x : y; }
  ST_INLINE Bool apply(Bool x, Bool y) { return {uint8_t(x.value & y.value)}; }
};
struct Clamp {
  template <typename T> ST_INLINE T apply(T low, T x, T high) {
    return Min::apply(Max::apply(x, low), high);
  }
};
struct Select {
  template <typename T> ST_INLINE T apply(uint8_t p, T x, T y) { return p ? x : y; }
};

#define ST_BITWISE(Name, op)                                                                       \
  struct Name {                                                                                    \
    template <typename T> ST_INLINE T apply(T x, T y) {                                            \
      return static_cast<T>(static_cast<Unsigned<T>>(x) op static_cast<Unsigned<T>>(y));           \
    }                                                                                              \
    ST_INLINE Bool apply(Bool x, Bool y) { return {uint8_t(x.value op y.value)}; }                 \
  }
ST_BITWISE(And, &);
ST_BITWISE(Or, |);
ST_BITWISE(Xor, ^);
#undef ST_BITWISE

struct Not {
  template <typename T> ST_INLINE T apply(T x) {
    return static_cast<T>(~static_cast<Wrapping<T>>(x));
  }
  ST_INLINE Bool apply(Bool x) { return {uint8_t(x.value ^ 1)}; }
};
/// Shifting by the width or more returns 0, or the sign.
struct Shl {
  template <typename T> ST_INLINE T apply(T x, T y) {
    Unsigned<T> n = static_cast<Unsigned<T>>(y);
    Wrapping<T> shifted = static_cast<Wrapping<T>>(x) << (n & (Traits<T>::bits - 1));
    return n < Traits<T>::bits ? static_cast<T>(shifted) : T(0);
  }
};
struct ShrLogical {
  template <typename T> ST_INLINE T apply(T x, T y) {
    Unsigned<T> n = static_cast<Unsigned<T>>(y);
    Unsigned<T> shifted = static_cast<Unsigned<T>>(x) >> (n & (Traits<T>::bits - 1));
    return n < Traits<T>::bits ? static_cast<T>(shifted) : T(0);
  }
};
struct ShrArith {
  template <typename T> ST_INLINE T apply(T x, T y) {
    Unsigned<T> n = static_cast<Unsigned<T>>(y);
    return static_cast<T>(static_cast<Signed<T>>(x) >>
                          (n < Traits<T>::bits ? n : Traits<T>::bits - 1));
  }
};
struct RotateLeft {
  template <typename T> ST_INLINE T apply(T x, T y) {
    constexpr unsigned mask = Traits<T>::bits - 1;
    unsigned n = static_cast<unsigned>(y) & mask;
    Wrapping<T> u = static_cast<Unsigned<T>>(x);
    return static_cast<T>((u << n) | (u >> ((Traits<T>::bits - n) & mask)));
  }
};
/// For unsigned integers of less than 64 bits.
struct MulHigh {
  template <typename T> ST_INLINE T apply(T x, T y) {
    return static_cast<T>(uint64_t(x) * uint64_t(y) >> Traits<T>::bits);
  }
};

// Folds with their identities.
template <typename T> struct SumOf {
  static constexpr T identity() { return T(); }
  ST_INLINE T apply(T x, T y) { return Add::apply(x, y); }
};
template <typename T> constexpr T lowest() {
  if constexpr (sizeof(T) == 8 && kIsFloat<T>)
    return -__builtin_inf();
  else if constexpr (kIsFloat<T>)
    return -kInfinity;
  else
    return Traits<T>::isSigned ? static_cast<T>(Unsigned<T>(1) << (Traits<T>::bits - 1)) : T(0);
}
template <typename T> constexpr T highest() {
  if constexpr (kIsFloat<T>)
    return -lowest<T>();
  else
    return static_cast<T>(~Unsigned<T>(lowest<T>()));
}
template <typename T> struct MaxOf {
  static constexpr T identity() { return lowest<T>(); }
  ST_INLINE T apply(T x, T y) { return Max::apply(x, y); }
};
template <typename T> struct MinOf {
  static constexpr T identity() { return highest<T>(); }
  ST_INLINE T apply(T x, T y) { return Min::apply(x, y); }
};
template <> struct MaxOf<Bool> {
  static constexpr Bool identity() { return {0}; }
  ST_INLINE Bool apply(Bool x, Bool y) { return Max::apply(x, y); }
};
template <> struct MinOf<Bool> {
  static constexpr Bool identity() { return {1}; }
  ST_INLINE Bool apply(Bool x, Bool y) { return Min::apply(x, y); }
};

// ---- tables -------------------------------------------------------------------

/// Reductions of any type.
template <typename T> TileKernel reductionKernel(VectorOp op) {
  switch (op) {
  case VectorOp::RowSum:
    return rowReduce<T, SumOf<T>>;
  case VectorOp::RowMax:
    return rowReduce<T, MaxOf<T>>;
  case VectorOp::RowMin:
    return rowReduce<T, MinOf<T>>;
  case VectorOp::ColSum:
    return colReduce<T, SumOf<T>>;
  case VectorOp::ColMax:
    return colReduce<T, MaxOf<T>>;
  case VectorOp::ColMin:
    return colReduce<T, MinOf<T>>;
  default:
    return nullptr;
  }
}

template <typename T> TileKernel compareKernel(VectorOp op) {
  switch (op) {
  case VectorOp::CmpEq:
    return binaryTile<uint8_t, T, CmpEq>;
  case VectorOp::CmpNe:
    return binaryTile<uint8_t, T, CmpNe>;
  case VectorOp::CmpLt:
    return binaryTile<uint8_t, T, CmpLt>;
  case VectorOp::CmpLe:
    return binaryTile<uint8_t, T, CmpLe>;
  case VectorOp::CmpGt:
    return binaryTile<uint8_t, T, CmpGt>;
  case VectorOp::CmpGe:
    return binaryTile<uint8_t, T, CmpGe>;
  default:
    return nullptr;
  }
}

/// Ops that every numeric type has (div, rem and pow are not among them: they
/// differ between integers and floats).
template <typename T> TileKernel arithmeticKernel(VectorOp op) {
  switch (op) {
  case VectorOp::Copy:
    return unaryTile<T, T, Identity>;
  case VectorOp::Neg:
    return unaryTile<T, T, Neg>;
  case VectorOp::Abs:
    return unaryTile<T, T, Abs>;
  case VectorOp::Sign:
    return unaryTile<T, T, Sign>;
  case VectorOp::Add:
    return binaryTile<T, T, Add>;
  case VectorOp::Sub:
    return binaryTile<T, T, Sub>;
  case VectorOp::Mul:
    return binaryTile<T, T, Mul>;
  case VectorOp::Max:
    return binaryTile<T, T, Max>;
  case VectorOp::Min:
    return binaryTile<T, T, Min>;
  case VectorOp::MulAdd:
    return ternaryTile<T, T, MulAdd>;
  case VectorOp::Clamp:
    return ternaryTile<T, T, Clamp>;
  case VectorOp::Select:
    return ternaryTile<T, uint8_t, Select>;
  default:
    return st::dtu::VectorOp::CmpEq <= op && op <= VectorOp::CmpGe ? compareKernel<T>(op)
                                                                   : reductionKernel<T>(op);
  }
}

template <typename T> TileKernel bitwiseKernel(VectorOp op) {
  switch (op) {
  case VectorOp::Not:
    return unaryTile<T, T, Not>;
  case VectorOp::And:
    return binaryTile<T, T, And>;
  case VectorOp::Or:
    return binaryTile<T, T, Or>;
  case VectorOp::Xor:
    return binaryTile<T, T, Xor>;
  default:
    return nullptr;
  }
}

template <typename T> TileKernel shiftKernel(VectorOp op) {
  switch (op) {
  case VectorOp::Shl:
    return binaryTile<T, T, Shl>;
  case VectorOp::ShrLogical:
    return binaryTile<T, T, ShrLogical>;
  case VectorOp::ShrArith:
    return binaryTile<T, T, ShrArith>;
  case VectorOp::RotateLeft:
    return binaryTile<T, T, RotateLeft>;
  case VectorOp::MulHigh:
    if constexpr (std::is_unsigned_v<T> && Traits<T>::bits < 64)
      return binaryTile<T, T, MulHigh>;
    return nullptr;
  default:
    return nullptr;
  }
}

} // namespace

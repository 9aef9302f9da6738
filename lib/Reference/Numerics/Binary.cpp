#include "lib/Reference/Numerics/Complex.h"
#include "lib/Reference/Numerics/Elementwise.h"
#include "lib/Reference/Numerics/ElementwiseLoops.h"
#include "lib/Reference/Numerics/SpecialFunctions.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace mlir::st::ref {
namespace {

enum class On { Floats = 1, Integers = 2, Bools = 4, Numbers = 3, Bits = 6, All = 7 };

constexpr bool includes(On set, On part) {
  return (static_cast<int>(set) & static_cast<int>(part)) != 0;
}

template <On kOn, class Fn> Tensor mapTyped(const Tensor &x, const Tensor &y, Fn fn) {
  return dispatchAll(x.getType(), [&](auto tag) {
    using T = decltype(tag);
    constexpr On kKind = isFloat<T> ? On::Floats : isBool<T> ? On::Bools : On::Integers;
    if constexpr (!isComplex<T> && includes(kOn, kKind))
      return mapBinary<T, T>(x.getType(), x, y, fn);
    else
      return Tensor();
  });
}

// Integer arithmetic wraps: it uses unsigned numbers that are wide enough that a product of two
// 16-bit numbers is not promoted to a signed int.
template <class T> uint64_t wide(T v) { return static_cast<uint64_t>(v); }

// On i1, a sum is a logical or and a product a logical and.
struct Add {
  template <class T> T operator()(T a, T b) const {
    if constexpr (isBool<T>)
      return a || b;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(wide(a) + wide(b));
    else
      return a + b;
  }
};

struct Sub {
  template <class T> T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(wide(a) - wide(b));
    else
      return a - b;
  }
};

struct Mul {
  template <class T> T operator()(T a, T b) const {
    if constexpr (isBool<T>)
      return a && b;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(wide(a) * wide(b));
    else
      return a * b;
  }
};

template <class T> bool isSignedOverflow(T a, T b) {
  return std::is_signed_v<T> && a == std::numeric_limits<T>::min() && b == static_cast<T>(-1);
}

// As XLA: a quotient by zero has all bits set, one that overflows wraps.
struct Div {
  template <class T> T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0)
        return static_cast<T>(-1);
      return isSignedOverflow(a, b) ? a : static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};

struct Rem {
  template <class T> T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0)
        return a;
      return isSignedOverflow(a, b) ? T(0) : static_cast<T>(a % b);
    } else {
      return std::fmod(a, b);
    }
  }
};

struct Max {
  template <class T> T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      // The result is NaN if an operand is; +0 is greater than -0.
      if (a == b)
        return std::signbit(a) ? b : a;
      return a > b || std::isnan(a) ? a : b;
    } else {
      return a > b ? a : b;
    }
  }
};

struct Min {
  template <class T> T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (a == b)
        return std::signbit(a) ? a : b;
      return a < b || std::isnan(a) ? a : b;
    } else {
      return a < b ? a : b;
    }
  }
};

// Integer powers wrap. A negative exponent truncates the real result, to 0 unless
// the base is 1 or -1.
struct Pow {
  template <class T> T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (std::is_signed_v<T> && b < T(0)) {
        bool odd = (b & 1) != 0;
        return a == T(1) ? T(1) : a == static_cast<T>(-1) ? static_cast<T>(odd ? -1 : 1) : T(0);
      }
      uint64_t result = 1, base = wide(a);
      for (auto exponent = wide(b); exponent != 0; exponent >>= 1, base *= base)
        if (exponent & 1)
          result *= base;
      return static_cast<T>(result);
    } else {
      return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
    }
  }
};

// A shift amount is unsigned; the width or more shifts every bit out.
template <class T> using Unsigned = std::make_unsigned_t<T>;
template <class T> bool exceedsWidth(T amount) {
  return static_cast<Unsigned<T>>(amount) >= sizeof(T) * 8;
}

struct ShiftLeft {
  template <class T> T operator()(T a, T b) const {
    return exceedsWidth(b) ? T(0) : static_cast<T>(wide(a) << b);
  }
};

struct ShiftRightLogical {
  template <class T> T operator()(T a, T b) const {
    return exceedsWidth(b) ? T(0) : static_cast<T>(static_cast<Unsigned<T>>(a) >> b);
  }
};

struct ShiftRightArithmetic {
  template <class T> T operator()(T a, T b) const {
    using Signed = std::make_signed_t<T>;
    int amount = exceedsWidth(b) ? static_cast<int>(sizeof(T) * 8 - 1) : static_cast<int>(b);
    return static_cast<T>(static_cast<Signed>(a) >> amount);
  }
};

struct MulHigh {
  template <class T> T operator()(T a, T b) const {
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b) >> (sizeof(T) * 8));
  }
};

// The next number in the type's own format. Rounding would lose this step, because mapBinary
// computes in f32. The bits of numbers of one sign have the order of their magnitudes.
template <class T, class Bits> T nextAfter(T from, T to) {
  using Number = Compute<T>;
  Number a = static_cast<Number>(from), b = static_cast<Number>(to);
  if (std::isnan(a) || std::isnan(b))
    return static_cast<T>(std::numeric_limits<Number>::quiet_NaN());
  if (a == b)
    return to;
  constexpr Bits kSign = static_cast<Bits>(Bits(1) << (sizeof(Bits) * 8 - 1));
  Bits bits = 0;
  std::memcpy(&bits, &from, sizeof bits);
  if (a == 0)
    bits = b > 0 ? 1 : kSign | 1;
  else
    bits = static_cast<Bits>((a < b) == (a > 0) ? bits + 1 : bits - 1);
  std::memcpy(&from, &bits, sizeof bits);
  return from;
}

Tensor nextAfter(const Tensor &x, const Tensor &y) {
  return dispatchAll(x.getType(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!isFloat<T>) {
      return Tensor();
    } else {
      using Bits = std::conditional_t<sizeof(T) == 8, uint64_t,
                                      std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
      Tensor result(x.getType(), commonShape({&x, &y}));
      for (int64_t i = 0, n = result.getNumElements(); i < n; ++i)
        result.mutableData<T>()[i] =
            nextAfter<T, Bits>(x.data<T>()[i * stepOf(x)], y.data<T>()[i * stepOf(y)]);
      return result;
    }
  });
}

template <class T> bool compareValues(CompareKind kind, T a, T b) {
  switch (kind) {
  case CompareKind::EQ:
    return a == b;
  case CompareKind::NE:
    return a != b;
  case CompareKind::GE:
    return a >= b;
  case CompareKind::GT:
    return a > b;
  case CompareKind::LE:
    return a <= b;
  case CompareKind::LT:
    return a < b;
  }
  return false;
}

template <class T> Tensor compareTyped(CompareKind kind, const Tensor &x, const Tensor &y) {
  return mapBinary<bool, T>(ElementType::BOOL, x, y,
                            [kind](auto a, auto b) { return compareValues(kind, a, b); });
}

// The bits of a float as an integer that sorts in the total order.
template <class Bits> Tensor totalOrderKeys(const Tensor &x, ElementType type) {
  Tensor bits = x.view(type, x.getShape());
  return mapUnary<Bits, Bits>(type, bits, [](Bits v) {
    return static_cast<Bits>(v < 0 ? v ^ std::numeric_limits<Bits>::max() : v);
  });
}

Tensor totalOrderKeys(const Tensor &x) {
  switch (x.getType()) {
  case ElementType::F64:
    return totalOrderKeys<int64_t>(x, ElementType::I64);
  case ElementType::F32:
    return totalOrderKeys<int32_t>(x, ElementType::I32);
  case ElementType::F16:
  case ElementType::BF16:
    return totalOrderKeys<int16_t>(x, ElementType::I16);
  default:
    return x;
  }
}

} // namespace

Tensor binary(BinaryKind kind, const Tensor &x, const Tensor &y) {
  if (isComplexType(x.getType()))
    return complexBinary(kind, x, y);
  switch (kind) {
  case BinaryKind::Add:
    return mapTyped<On::All>(x, y, Add());
  case BinaryKind::And:
    return mapTyped<On::Bits>(x, y, [](auto a, auto b) { return a & b; });
  case BinaryKind::Atan2:
    return mapTyped<On::Floats>(x, y, [](double a, double b) { return std::atan2(a, b); });
  case BinaryKind::Div:
    return mapTyped<On::Numbers>(x, y, Div());
  case BinaryKind::Max:
    return mapTyped<On::All>(x, y, Max());
  case BinaryKind::Min:
    return mapTyped<On::All>(x, y, Min());
  case BinaryKind::Mul:
    return mapTyped<On::All>(x, y, Mul());
  case BinaryKind::MulHigh:
    return mapTyped<On::Integers>(x, y, MulHigh());
  case BinaryKind::NextAfter:
    return nextAfter(x, y);
  case BinaryKind::Or:
    return mapTyped<On::Bits>(x, y, [](auto a, auto b) { return a | b; });
  case BinaryKind::Polygamma:
    return mapTyped<On::Floats>(x, y, [](double n, double v) { return polygamma(n, v); });
  case BinaryKind::Pow:
    return mapTyped<On::Numbers>(x, y, Pow());
  case BinaryKind::Rem:
    return mapTyped<On::Numbers>(x, y, Rem());
  case BinaryKind::ShiftLeft:
    return mapTyped<On::Integers>(x, y, ShiftLeft());
  case BinaryKind::ShiftRightArithmetic:
    return mapTyped<On::Integers>(x, y, ShiftRightArithmetic());
  case BinaryKind::ShiftRightLogical:
    return mapTyped<On::Integers>(x, y, ShiftRightLogical());
  case BinaryKind::Sub:
    return mapTyped<On::Numbers>(x, y, Sub());
  case BinaryKind::Xor:
    return mapTyped<On::Bits>(x, y, [](auto a, auto b) { return a ^ b; });
  case BinaryKind::Zeta:
    return mapTyped<On::Floats>(x, y, [](double s, double q) { return zeta(s, q); });
  }
  return Tensor();
}

Tensor compare(CompareKind kind, const Tensor &lhs, const Tensor &rhs, bool totalOrder) {
  if (isComplexType(lhs.getType()))
    return complexCompare(kind, lhs, rhs);
  if (totalOrder)
    return compare(kind, totalOrderKeys(lhs), totalOrderKeys(rhs));
  return dispatchAll(lhs.getType(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (isComplex<T>)
      return Tensor();
    else
      return compareTyped<T>(kind, lhs, rhs);
  });
}

Tensor select(const Tensor &pred, const Tensor &onTrue, const Tensor &onFalse) {
  return dispatchAll(onTrue.getType(), [&](auto tag) {
    using T = decltype(tag);
    Tensor result(onTrue.getType(), commonShape({&onTrue, &onFalse, &pred}));
    const bool *p = pred.data<bool>();
    const T *a = onTrue.data<T>(), *b = onFalse.data<T>();
    T *out = result.mutableData<T>();
    int64_t stepP = stepOf(pred), stepA = stepOf(onTrue), stepB = stepOf(onFalse);
    for (int64_t i = 0, n = result.getNumElements(); i < n; ++i)
      out[i] = p[i * stepP] ? a[i * stepA] : b[i * stepB];
    return result;
  });
}

Tensor clamp(const Tensor &low, const Tensor &operand, const Tensor &high) {
  return binary(BinaryKind::Min, binary(BinaryKind::Max, operand, low), high);
}

} // namespace mlir::st::ref

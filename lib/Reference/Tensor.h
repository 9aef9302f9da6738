// The values of the reference interpreter.
#ifndef ST_REFERENCE_TENSOR_H
#define ST_REFERENCE_TENSOR_H

#include "lib/Support/ElementType.h"
#include "lib/Support/Float16.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cassert>
#include <complex>
#include <cstddef>
#include <memory>

namespace mlir::st::ref {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
using ::st::BFloat16;
using ::st::ElementType;
using ::st::Float16;

using Shape = SmallVector<int64_t, 4>;

/// The number of elements of a shape that is known to fit in memory.
int64_t numElements(ArrayRef<int64_t> shape);

/// The strides, in elements, of a row-major tensor of this shape.
Shape rowMajorStrides(ArrayRef<int64_t> shape);

/// A dense row-major tensor. Copies share the bytes, which never change after the tensor is
/// published: only the code that allocated it writes. An i1 takes one byte, 0 or 1. A
/// default-constructed tensor is not a value.
class Tensor {
public:
  Tensor() = default;

  /// Allocates without initializing the elements.
  Tensor(ElementType type, ArrayRef<int64_t> shape);

  /// A scalar.
  template <class T> static Tensor scalar(ElementType type, T value) {
    Tensor tensor(type, {});
    *tensor.mutableData<T>() = value;
    return tensor;
  }

  explicit operator bool() const { return storage != nullptr; }

  ElementType getType() const { return type; }
  ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return static_cast<int64_t>(shape.size()); }
  int64_t getNumElements() const { return elements; }
  size_t getByteSize() const { return static_cast<size_t>(elements) * ::st::byteWidth(type); }

  template <class T> const T *data() const { return reinterpret_cast<const T *>(storage.get()); }
  const std::byte *bytes() const { return storage.get(); }

  /// For the code that allocated the tensor, before it is shared.
  template <class T> T *mutableData() {
    assert(storage.use_count() == 1 && "a shared tensor never changes");
    return reinterpret_cast<T *>(storage.get());
  }

  /// The same bytes under another shape or type of equal size in bytes.
  Tensor view(ElementType newType, ArrayRef<int64_t> newShape) const;
  Tensor reshaped(ArrayRef<int64_t> newShape) const { return view(type, newShape); }

  /// A writable copy.
  Tensor clone() const;

  /// Returns true if both are the same value because they share their bytes.
  bool isSameAs(const Tensor &other) const {
    return storage == other.storage && type == other.type && shape == other.shape;
  }

  /// Returns true if type, shape and all bits are equal.
  bool bitwiseEquals(const Tensor &other) const;

private:
  ElementType type = ElementType::F32;
  Shape shape;
  int64_t elements = 0;
  std::shared_ptr<std::byte[]> storage;
};

/// Calls `fn` with a value of the C++ type that stores an element of `type`.
template <class Fn> auto dispatchAll(ElementType type, Fn fn) {
  switch (type) {
  case ElementType::F64:
    return fn(double());
  case ElementType::F32:
    return fn(float());
  case ElementType::F16:
    return fn(Float16());
  case ElementType::BF16:
    return fn(BFloat16());
  case ElementType::I64:
    return fn(int64_t());
  case ElementType::I32:
    return fn(int32_t());
  case ElementType::I16:
    return fn(int16_t());
  case ElementType::I8:
    return fn(int8_t());
  case ElementType::U64:
    return fn(uint64_t());
  case ElementType::U32:
    return fn(uint32_t());
  case ElementType::U16:
    return fn(uint16_t());
  case ElementType::U8:
    return fn(uint8_t());
  case ElementType::C64:
    return fn(std::complex<float>());
  case ElementType::C128:
    return fn(std::complex<double>());
  case ElementType::BOOL:
    break;
  }
  return fn(bool());
}

template <class T>
constexpr bool isFloat16 = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T> constexpr bool isFloat = std::is_floating_point_v<T> || isFloat16<T>;
template <class T> constexpr bool isBool = std::is_same_v<T, bool>;
template <class T> constexpr bool isInteger = std::is_integral_v<T> && !isBool<T>;

template <class T>
constexpr bool isComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// The compute type of T: float for the 16-bit formats.
template <class T> using Compute = std::conditional_t<isFloat16<T>, float, T>;

inline bool isFloatType(ElementType type) {
  return dispatchAll(type, [](auto tag) { return isFloat<decltype(tag)>; });
}

inline bool isComplexType(ElementType type) {
  return type == ElementType::C64 || type == ElementType::C128;
}

} // namespace mlir::st::ref

#endif // ST_REFERENCE_TENSOR_H

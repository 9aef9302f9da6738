// PJRT's element types and shapes.
#pragma once

#include "plugins/pjrt/abi/Types.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st::pjrt {

/// Bytes of an element in the host's memory. Elements of less than eight bits take a byte. Returns
/// 0 for other values.
int64_t byteWidth(PJRT_Buffer_Type type);
/// JAX's and HLO's name: "f32", "pred".
const char *typeName(PJRT_Buffer_Type type);

struct ArrayType {
  PJRT_Buffer_Type element = PJRT_Buffer_Type_INVALID;
  std::vector<int64_t> dims;
  /// The dimensions in their order in memory, the fastest first; empty: row-major.
  std::vector<int64_t> minorToMajor = {};

  int64_t numElements() const;
  int64_t numBytes() const { return numElements() * byteWidth(element); }
  /// Byte strides of each dimension of the dense array.
  std::vector<int64_t> strides() const;
  std::string describe() const; ///< "f32[2,3]"
};

/// Byte strides of each dimension of a dense array; the first of `minorToMajor` is the fastest.
/// InvalidArgument unless that is a permutation of the dimensions.
absl::Status stridesOf(const ArrayType &type, absl::Span<const int64_t> minorToMajor,
                       std::vector<int64_t> &strides);

/// Copies elements between two arrays of one type with these strides in bytes.
void copyStrided(const ArrayType &type, const uint8_t *from, absl::Span<const int64_t> fromStrides,
                 uint8_t *to, absl::Span<const int64_t> toStrides);

} // namespace st::pjrt

#include "plugins/pjrt/runtime/ArrayType.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstring>

namespace st::pjrt {

namespace {

struct TypeInfo {
  PJRT_Buffer_Type type;
  int64_t bytes;
  const char *name;
};

constexpr TypeInfo kTypes[] = {
    {PJRT_Buffer_Type_PRED, 1, "pred"},
    {PJRT_Buffer_Type_S8, 1, "s8"},
    {PJRT_Buffer_Type_S16, 2, "s16"},
    {PJRT_Buffer_Type_S32, 4, "s32"},
    {PJRT_Buffer_Type_S64, 8, "s64"},
    {PJRT_Buffer_Type_U8, 1, "u8"},
    {PJRT_Buffer_Type_U16, 2, "u16"},
    {PJRT_Buffer_Type_U32, 4, "u32"},
    {PJRT_Buffer_Type_U64, 8, "u64"},
    {PJRT_Buffer_Type_F16, 2, "f16"},
    {PJRT_Buffer_Type_F32, 4, "f32"},
    {PJRT_Buffer_Type_F64, 8, "f64"},
    {PJRT_Buffer_Type_BF16, 2, "bf16"},
    {PJRT_Buffer_Type_C64, 8, "c64"},
    {PJRT_Buffer_Type_C128, 16, "c128"},
    {PJRT_Buffer_Type_F8E5M2, 1, "f8e5m2"},
    {PJRT_Buffer_Type_F8E4M3FN, 1, "f8e4m3fn"},
    {PJRT_Buffer_Type_F8E4M3B11FNUZ, 1, "f8e4m3b11fnuz"},
    {PJRT_Buffer_Type_F8E5M2FNUZ, 1, "f8e5m2fnuz"},
    {PJRT_Buffer_Type_F8E4M3FNUZ, 1, "f8e4m3fnuz"},
    {PJRT_Buffer_Type_S4, 1, "s4"},
    {PJRT_Buffer_Type_U4, 1, "u4"},
    {PJRT_Buffer_Type_TOKEN, 0, "token"},
    {PJRT_Buffer_Type_S2, 1, "s2"},
    {PJRT_Buffer_Type_U2, 1, "u2"},
    {PJRT_Buffer_Type_F8E4M3, 1, "f8e4m3"},
    {PJRT_Buffer_Type_F8E3M4, 1, "f8e3m4"},
    {PJRT_Buffer_Type_F8E8M0FNU, 1, "f8e8m0fnu"},
    {PJRT_Buffer_Type_F4E2M1FN, 1, "f4e2m1fn"},
    {PJRT_Buffer_Type_S1, 1, "s1"},
    {PJRT_Buffer_Type_U1, 1, "u1"},
    {PJRT_Buffer_Type_F6E2M3FN, 1, "f6e2m3fn"},
    {PJRT_Buffer_Type_F6E3M2FN, 1, "f6e3m2fn"},
};

const TypeInfo *find(PJRT_Buffer_Type type) {
  const auto *it = std::find_if(std::begin(kTypes), std::end(kTypes),
                                [&](const TypeInfo &info) { return info.type == type; });
  return it == std::end(kTypes) ? nullptr : it;
}

} // namespace

int64_t byteWidth(PJRT_Buffer_Type type) {
  const TypeInfo *info = find(type);
  return info ? info->bytes : 0;
}

const char *typeName(PJRT_Buffer_Type type) {
  const TypeInfo *info = find(type);
  return info ? info->name : "invalid";
}

int64_t ArrayType::numElements() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

std::vector<int64_t> ArrayType::strides() const {
  std::vector<int64_t> strides(dims.size());
  int64_t step = byteWidth(element);
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t dim =
        minorToMajor.empty() ? dims.size() - 1 - i : static_cast<size_t>(minorToMajor[i]);
    strides[dim] = step;
    step *= dims[dim];
  }
  return strides;
}

std::string ArrayType::describe() const {
  return absl::StrCat(typeName(element), "[", absl::StrJoin(dims, ","), "]");
}

absl::Status stridesOf(const ArrayType &type, absl::Span<const int64_t> minorToMajor,
                       std::vector<int64_t> &strides) {
  strides.assign(type.dims.size(), -1);
  int64_t step = byteWidth(type.element);
  for (int64_t dim : minorToMajor) {
    if (dim < 0 || dim >= static_cast<int64_t>(strides.size()) || strides[dim] >= 0)
      break;
    strides[dim] = step;
    step *= type.dims[dim];
  }
  if (minorToMajor.size() != type.dims.size() ||
      std::find(strides.begin(), strides.end(), -1) != strides.end())
    return absl::InvalidArgumentError(absl::StrCat("layout {", absl::StrJoin(minorToMajor, ","),
                                                   "} of ", type.describe(),
                                                   ": expected a permutation of its dimensions"));
  return absl::OkStatus();
}

namespace {

struct StridedCopy {
  absl::Span<const int64_t> dims, fromStrides, toStrides;
  size_t dense; ///< from this dimension on, both sides are dense

  void run(size_t dim, const uint8_t *from, uint8_t *to, int64_t denseBytes) const {
    if (dim == dense) {
      std::memcpy(to, from, static_cast<size_t>(denseBytes));
      return;
    }
    for (int64_t i = 0; i < dims[dim]; ++i)
      run(dim + 1, from + i * fromStrides[dim], to + i * toStrides[dim], denseBytes);
  }
};

} // namespace

void copyStrided(const ArrayType &type, const uint8_t *from, absl::Span<const int64_t> fromStrides,
                 uint8_t *to, absl::Span<const int64_t> toStrides) {
  if (type.numElements() == 0)
    return;
  int64_t bytes = byteWidth(type.element);
  size_t dense = type.dims.size();
  while (dense > 0 && fromStrides[dense - 1] == bytes && toStrides[dense - 1] == bytes)
    bytes *= type.dims[--dense];
  StridedCopy{type.dims, fromStrides, toStrides, dense}.run(0, from, to, bytes);
}

} // namespace st::pjrt

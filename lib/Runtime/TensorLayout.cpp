#include "lib/Runtime/TensorLayout.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstring>

namespace st {

std::optional<ElementType> elementTypeOf(proto::ElementType type) {
  switch (type) {
  case proto::I1:
    return ElementType::BOOL;
  case proto::I8:
    return ElementType::I8;
  case proto::I16:
    return ElementType::I16;
  case proto::I32:
    return ElementType::I32;
  case proto::I64:
    return ElementType::I64;
  case proto::U8:
    return ElementType::U8;
  case proto::U16:
    return ElementType::U16;
  case proto::U32:
    return ElementType::U32;
  case proto::U64:
    return ElementType::U64;
  case proto::BF16:
    return ElementType::BF16;
  case proto::F16:
    return ElementType::F16;
  case proto::F32:
    return ElementType::F32;
  case proto::F64:
    return ElementType::F64;
  default:
    return std::nullopt;
  }
}

std::string describeType(ElementType type, const std::vector<int64_t> &shape) {
  return absl::StrCat(absl::AsciiStrToLower(elementTypeName(type)), "[", absl::StrJoin(shape, ","),
                      "]");
}

int64_t TensorBlock::numElements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

int64_t TensorBlock::extent(int64_t dim) const {
  return std::clamp<int64_t>(globalShape[dim] - start[dim], 0, shape[dim]);
}

int64_t TensorBlock::numReal() const {
  int64_t count = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    count *= extent(static_cast<int64_t>(dim));
  return count;
}

static TensorBlock wholeBlock(const proto::TensorType &global) {
  TensorBlock block;
  block.type = *elementTypeOf(global.element());
  block.globalShape.assign(global.shape().begin(), global.shape().end());
  block.shape = block.globalShape;
  block.start.assign(block.shape.size(), 0);
  return block;
}

static void cut(TensorBlock &block, const proto::Slice &slice, int64_t rank) {
  const int64_t dims = slice.counts_size();
  if (slice.rows() != 0) {
    block.start[0] = slice.first_row();
    block.shape[0] = slice.rows();
  }
  for (int64_t dim = 0; dim < dims; ++dim) {
    if (slice.local_size() != 0)
      block.shape[dim] = slice.local(dim);
    else
      block.shape[dim] /= slice.counts(dim);
    block.start[dim] += slice.parts(rank * dims + dim) * block.shape[dim];
  }
}

TensorBlock blockOf(const proto::TensorType &global, const proto::Slice &slice, int64_t rank) {
  TensorBlock block = wholeBlock(global);
  cut(block, slice, rank);
  return block;
}

TensorBlock blockOf(const proto::Input &input, int64_t microBatches, int64_t microBatch,
                    int64_t rank) {
  TensorBlock block = wholeBlock(input.global());
  if (int64_t dim = input.micro_dim(); dim >= 0) {
    const proto::Slice &slice = input.slice();
    if (slice.local_size() != 0)
      block.shape[dim] = slice.local(dim) * slice.counts(dim);
    else
      block.shape[dim] /= microBatches;
    block.start[dim] = microBatch * block.shape[dim];
  }
  cut(block, input.slice(), rank);
  return block;
}

void forEachRun(const TensorBlock &block, absl::FunctionRef<void(int64_t, int64_t, int64_t)> run) {
  forEachRun(block, 0, block.numElements(), run);
}

void forEachRun(const TensorBlock &block, int64_t begin, int64_t end,
                absl::FunctionRef<void(int64_t, int64_t, int64_t)> run) {
  // Trailing dimensions that are whole belong to one run with the first that is not.
  int64_t dims = static_cast<int64_t>(block.shape.size()), runDims = 0, runLength = 1;
  int64_t realLength = 1; // of a run, before its padding
  while (runDims < dims) {
    int64_t dim = dims - 1 - runDims++;
    realLength = runLength * block.extent(dim);
    runLength *= block.shape[dim];
    if (block.shape[dim] != block.globalShape[dim] || block.start[dim] != 0)
      break;
  }
  std::vector<int64_t> strides(dims, 1);
  for (int64_t dim = dims - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * block.globalShape[dim + 1];

  for (int64_t local = begin; local < end;) {
    int64_t within = local % runLength, row = local / runLength, global = within;
    bool isPadding = within >= realLength;
    for (int64_t dim = dims - 1; dim >= 0; --dim) {
      int64_t index = 0;
      if (dim < dims - runDims) {
        index = row % block.shape[dim];
        row /= block.shape[dim];
        isPadding |= index >= block.extent(dim);
      }
      global += (block.start[dim] + index) * strides[dim];
    }
    int64_t count = std::min(runLength - within, end - local);
    if (!isPadding)
      run(global, local, std::min(count, realLength - within));
    local += count;
  }
}

void copyToGlobal(const TensorBlock &block, const uint8_t *local, uint8_t *global) {
  const int64_t width = static_cast<int64_t>(byteWidth(block.type));
  forEachRun(block, [&](int64_t to, int64_t from, int64_t count) {
    std::memcpy(global + to * width, local + from * width, count * width);
  });
}

void copyToLocal(const TensorBlock &block, const uint8_t *global, uint8_t *local) {
  const int64_t width = static_cast<int64_t>(byteWidth(block.type));
  forEachRun(block, [&](int64_t from, int64_t to, int64_t count) {
    std::memcpy(local + to * width, global + from * width, count * width);
  });
}

} // namespace st

#include "lib/Runtime/State/TensorLayout.h"

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

bool holdsElements(ElementType type, const std::vector<int64_t> &shape, ElementType readType,
                   std::vector<int64_t> readShape) {
  const bool isPair = (type == ElementType::C64 && readType == ElementType::F32) ||
                      (type == ElementType::C128 && readType == ElementType::F64);
  if (isPair) {
    if (readShape.empty() || readShape.back() != 2)
      return false;
    readShape.pop_back();
  }
  return (isPair || type == readType) && shape == readShape;
}

int64_t TensorBlock::numElements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

namespace {
/// A dimension of the tensor: `count` dimensions of the view from `first` on. They have `padded`
/// positions; `size` of them are elements.
struct Group {
  int64_t first, count, size, padded;
};

std::vector<Group> groupsOf(const TensorBlock &block) {
  std::vector<Group> groups;
  int64_t first = 0;
  for (size_t dim = 0; dim < block.viewRanks.size(); ++dim) {
    Group group = {first, block.viewRanks[dim], block.globalShape[dim], 1};
    for (int64_t i = 0; i < group.count; ++i)
      group.padded *= block.view[first++];
    groups.push_back(group);
  }
  return groups;
}

/// Strides of the view's dimensions within those of the tensor.
std::vector<int64_t> viewStrides(const TensorBlock &block, const std::vector<Group> &groups) {
  std::vector<int64_t> strides(block.view.size(), 1);
  for (const Group &group : groups)
    for (int64_t dim = group.first + group.count - 2; dim >= group.first; --dim)
      strides[dim] = strides[dim + 1] * block.view[dim + 1];
  return strides;
}
} // namespace

int64_t TensorBlock::numReal() const {
  std::vector<Group> groups = groupsOf(*this);
  std::vector<int64_t> strides = viewStrides(*this, groups);
  int64_t product = 1;
  for (const Group &group : groups) {
    const int64_t last = group.first + group.count - 1;
    int64_t rows = 1, real = 0;
    for (int64_t dim = group.first; dim < last; ++dim)
      rows *= shape[dim];
    for (int64_t row = 0; row < rows; ++row) {
      int64_t position = start[last];
      for (int64_t dim = last - 1, rest = row; dim >= group.first; --dim) {
        position += (start[dim] + rest % shape[dim]) * strides[dim];
        rest /= shape[dim];
      }
      real += std::clamp<int64_t>(group.size - position, 0, shape[last]);
    }
    product *= real;
  }
  return product;
}

static TensorBlock unshardedBlock(const proto::TensorType &global, const proto::Slice &slice) {
  TensorBlock block;
  block.type = *elementTypeOf(global.element());
  block.globalShape.assign(global.shape().begin(), global.shape().end());
  block.view = block.globalShape;
  block.viewRanks.assign(block.view.size(), 1);
  if (slice.view_size() != 0) {
    block.view.assign(slice.view().begin(), slice.view().end());
    block.viewRanks.assign(slice.view_ranks().begin(), slice.view_ranks().end());
  }
  block.shape = block.view;
  block.start.assign(block.shape.size(), 0);
  return block;
}

static void takeShard(TensorBlock &block, const proto::Slice &slice, int64_t rank) {
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
  TensorBlock block = unshardedBlock(global, slice);
  takeShard(block, slice, rank);
  return block;
}

static TensorBlock blockOf(const proto::TensorType &global, const proto::Slice &slice, int64_t dim,
                           int64_t microBatches, int64_t microBatch, int64_t rank) {
  TensorBlock block = unshardedBlock(global, slice);
  if (dim >= 0) {
    if (slice.local_size() != 0)
      block.shape[dim] = slice.local(dim) * slice.counts(dim);
    else
      block.shape[dim] /= microBatches;
    block.start[dim] = microBatch * block.shape[dim];
  }
  takeShard(block, slice, rank);
  return block;
}

TensorBlock blockOf(const proto::Input &input, int64_t microBatches, int64_t microBatch,
                    int64_t rank) {
  return blockOf(input.global(), input.slice(), input.micro_dim(), microBatches, microBatch, rank);
}

TensorBlock blockOf(const proto::Output &output, int64_t microBatches, int64_t microBatch,
                    int64_t rank) {
  return blockOf(output.global(), output.slice(), output.has_micro_dim() ? output.micro_dim() : -1,
                 microBatches, microBatch, rank);
}

int64_t countParts(const proto::Output &output, int64_t microBatches) {
  return output.has_micro_dim() ? microBatches : 1;
}

void forEachRun(const TensorBlock &block, absl::FunctionRef<void(int64_t, int64_t, int64_t)> run) {
  forEachRun(block, 0, block.numElements(), run);
}

void forEachRun(const TensorBlock &block, int64_t begin, int64_t end,
                absl::FunctionRef<void(int64_t, int64_t, int64_t)> run) {
  const std::vector<Group> groups = groupsOf(block);
  const std::vector<int64_t> within = viewStrides(block, groups);
  std::vector<int64_t> strides(groups.size(), 1); // of the tensor
  for (auto dim = static_cast<int64_t>(groups.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * groups[dim + 1].size;

  // Trailing dimensions that are full and unpadded form one run with the next dimension before
  // them.
  auto runGroup = static_cast<int64_t>(groups.size()) - 1;
  auto runDim = static_cast<int64_t>(block.shape.size());
  int64_t runLength = 1;
  while (runDim > 0) {
    runLength *= block.shape[--runDim];
    if (block.shape[runDim] != block.view[runDim] || block.start[runDim] != 0)
      break;
    if (runDim > groups[runGroup].first)
      continue;
    if (groups[runGroup].padded != groups[runGroup].size || runGroup == 0)
      break;
    --runGroup;
  }

  for (int64_t local = begin; local < end;) {
    const int64_t inRun = local % runLength, length = std::min(runLength - inRun, end - local);
    int64_t row = local / runLength, global = 0, realLength = groups.empty() ? 1 : 0;
    bool isPadding = false;
    auto dim = static_cast<int64_t>(block.shape.size()) - 1;
    for (auto g = static_cast<int64_t>(groups.size()) - 1; g >= 0; --g) {
      int64_t position = 0;
      for (; dim >= groups[g].first; --dim) {
        int64_t index = 0;
        if (dim < runDim) {
          index = row % block.shape[dim];
          row /= block.shape[dim];
        }
        position += (block.start[dim] + index) * within[dim];
      }
      if (g == runGroup)
        realLength = std::max<int64_t>(groups[g].size - position, 0) * strides[g];
      isPadding |= position >= groups[g].size;
      global += position * strides[g];
    }
    if (!isPadding && inRun < realLength)
      run(global + inRun, local, std::min(length, realLength - inRun));
    local += length;
  }
}

void forEachRunWithin(const TensorBlock &block, int64_t begin, int64_t end,
                      absl::FunctionRef<void(int64_t, int64_t, int64_t)> run) {
  int64_t first = 0, last = block.numElements();
  if (!block.shape.empty() && block.shape[0] > 0) {
    // Visits only the rows of the view's first dimension that reach into the range.
    const std::vector<Group> groups = groupsOf(block);
    int64_t row = viewStrides(block, groups)[0]; // elements of the tensor
    for (size_t dim = 1; dim < block.globalShape.size(); ++dim)
      row *= block.globalShape[dim];
    const int64_t length = last / block.shape[0]; // elements of the block
    const auto clamp = [&](int64_t rows) {
      return std::clamp<int64_t>(rows - block.start[0], 0, block.shape[0]) * length;
    };
    first = row > 0 ? clamp(begin / row) : 0;
    last = row > 0 ? clamp((end + row - 1) / row) : 0;
  }
  forEachRun(block, first, last, [&](int64_t global, int64_t local, int64_t count) {
    const int64_t from = std::max(global, begin), to = std::min(global + count, end);
    if (from < to)
      run(from, local + (from - global), to - from);
  });
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

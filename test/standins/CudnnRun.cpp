#include "test/standins/CudnnRun.h"

#include "lib/Support/Float16.h"

#include <algorithm>
#include <cmath>

using namespace st;
using namespace st::cuda;

namespace standin::cudnn {

static float readElement(const uint8_t *memory, int64_t type, int64_t at) {
  if (type == kCudnnF16)
    return static_cast<float>(reinterpret_cast<const Float16 *>(memory)[at]);
  if (type == kCudnnBF16)
    return static_cast<float>(reinterpret_cast<const BFloat16 *>(memory)[at]);
  return reinterpret_cast<const float *>(memory)[at];
}

/// Rounds to an element type, also without storing the value.
static float roundTo(int64_t type, float x) {
  return type == kCudnnF16    ? static_cast<float>(static_cast<Float16>(x))
         : type == kCudnnBF16 ? static_cast<float>(static_cast<BFloat16>(x))
                              : x;
}

static void writeElement(uint8_t *memory, int64_t type, int64_t at, float x) {
  if (type == kCudnnF16)
    reinterpret_cast<Float16 *>(memory)[at] = static_cast<Float16>(x);
  else if (type == kCudnnBF16)
    reinterpret_cast<BFloat16 *>(memory)[at] = static_cast<BFloat16>(x);
  else
    reinterpret_cast<float *>(memory)[at] = x;
}

template <class Visit> static void forEach(const Extents &dims, Visit visit) {
  Extents at{};
  for (at[0] = 0; at[0] < dims[0]; ++at[0])
    for (at[1] = 0; at[1] < dims[1]; ++at[1])
      for (at[2] = 0; at[2] < dims[2]; ++at[2])
        for (at[3] = 0; at[3] < dims[3]; ++at[3])
          visit(at);
}

static int64_t offset(const Extents &at, const Extents &strides) {
  return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] + at[3] * strides[3];
}
static int64_t place(const Extents &at, const Extents &dims) {
  return ((at[0] * dims[1] + at[1]) * dims[2] + at[2]) * dims[3] + at[3];
}

Operation describe(const Desc &op) {
  Operation result{op.kind, 0, 0, {}};
  auto add = [&](int attribute) {
    if (const Desc *tensor = op.other(attribute))
      result.operands.emplace_back(*tensor);
  };
  if (op.kind == kCudnnMatmulOp) {
    add(kCudnnMatmulOpA), add(kCudnnMatmulOpB), add(kCudnnMatmulOpC);
  } else if (op.kind == kCudnnReshapeOp) {
    add(kCudnnReshapeOpX), add(kCudnnReshapeOpY);
  } else if (op.kind == kCudnnReductionOp) {
    result.mode = op.other(kCudnnReductionOpDesc)->number(kCudnnReductionOperator);
    add(kCudnnReductionOpX), add(kCudnnReductionOpY);
  } else {
    result.mode = op.other(kCudnnPointwiseOpDesc)->number(kCudnnPointwiseMode);
    result.axis = op.other(kCudnnPointwiseOpDesc)->number(kCudnnPointwiseAxis);
    add(kCudnnPointwiseOpX), add(kCudnnPointwiseOpB), add(kCudnnPointwiseOpT);
    add(kCudnnPointwiseOpY);
  }
  return result;
}

void Run::run(const Operation &op) {
  const Tensor &result = op.operands.back();
  std::vector<float> &numbers = values[result.id];
  numbers.assign(static_cast<size_t>(result.size()), 0);
  if (op.kind == kCudnnMatmulOp)
    multiply(op, numbers);
  else if (op.kind == kCudnnReductionOp)
    reduce(op, numbers);
  else if (op.kind == kCudnnReshapeOp)
    transpose(op, numbers);
  else
    apply(op, numbers);
  for (float &number : numbers)
    number = roundTo(result.type, number);
  if (result.isVirtual)
    return;
  // Engines accumulate the f32 results of products into existing contents.
  const bool adds = op.kind == kCudnnMatmulOp && result.type == kCudnnF32;
  forEach(result.dims, [&](const Extents &at) {
    float &number = numbers[static_cast<size_t>(place(at, result.dims))];
    const int64_t to = offset(at, result.strides);
    number += adds ? readElement(pointers.at(result.id), result.type, to) : 0;
    writeElement(pointers.at(result.id), result.type, to, number);
  });
}

const std::vector<float> &Run::read(const Tensor &tensor) {
  auto [it, isNew] = values.try_emplace(tensor.id);
  std::vector<float> &elements = it->second;
  if (isNew) {
    elements.resize(static_cast<size_t>(tensor.size()));
    forEach(tensor.dims, [&](const Extents &at) {
      elements[static_cast<size_t>(place(at, tensor.dims))] =
          readElement(pointers.at(tensor.id), tensor.type, offset(at, tensor.strides));
    });
  }
  return elements;
}

void Run::transpose(const Operation &op, std::vector<float> &result) {
  const std::vector<float> &x = read(op.operands[0]);
  forEach(op.operands[1].dims, [&](const Extents &at) {
    result[static_cast<size_t>(place(at, op.operands[1].dims))] =
        x[static_cast<size_t>(place({at[0], at[1], at[3], at[2]}, op.operands[0].dims))];
  });
}

void Run::multiply(const Operation &op, std::vector<float> &result) {
  std::vector<float> a = read(op.operands[0]);
  const std::vector<float> &b = read(op.operands[1]);
  for (float &number : a)
    number = roundTo(op.operands[1].type, number);
  const Extents &left = op.operands[0].dims, &right = op.operands[1].dims;
  const int64_t m = left[2], n = right[3], k = left[3];
  const int64_t group = left[1] / right[1]; // heads of a that share one of b
  for (int64_t batch = 0; batch < left[0] * left[1]; ++batch)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t depth = 0; depth < k; ++depth) {
        const float factor = a[static_cast<size_t>((batch * m + i) * k + depth)];
        for (int64_t j = 0; j < n; ++j)
          result[static_cast<size_t>((batch * m + i) * n + j)] +=
              factor * b[static_cast<size_t>((batch / group * k + depth) * n + j)];
      }
}

void Run::reduce(const Operation &op, std::vector<float> &result) {
  const std::vector<float> &x = read(op.operands[0]);
  const auto columns = static_cast<size_t>(op.operands[0].dims[3]);
  for (size_t row = 0; row < result.size(); ++row) {
    result[row] = x[row * columns];
    for (size_t column = 1; column < columns; ++column) {
      const float next = x[row * columns + column];
      result[row] = op.mode == kCudnnReduceMax ? std::max(result[row], next) : result[row] + next;
    }
  }
}

void Run::apply(const Operation &op, std::vector<float> &result) {
  const Extents &dims = op.operands.back().dims;
  std::vector<const std::vector<float> *> read;
  for (size_t i = 0; i + 1 < op.operands.size() && op.mode != kCudnnIndex; ++i)
    read.push_back(&this->read(op.operands[i]));
  forEach(dims, [&](const Extents &at) {
    auto operand = [&](size_t number) {
      Extents own = at;
      for (size_t dim = 0; dim < 4; ++dim)
        own[dim] = op.operands[number].dims[dim] == 1 ? 0 : at[dim];
      return (*read[number])[static_cast<size_t>(place(own, op.operands[number].dims))];
    };
    float &number = result[static_cast<size_t>(place(at, dims))];
    switch (op.mode) {
    case kCudnnAdd:
      number = operand(0) + operand(1);
      break;
    case kCudnnMul:
      number = operand(0) * operand(1);
      break;
    case kCudnnDiv:
      number = operand(0) / operand(1);
      break;
    case kCudnnSub:
      number = operand(0) - operand(1);
      break;
    case kCudnnExp:
      number = std::exp(operand(0));
      break;
    case kCudnnLog:
      number = std::log(operand(0));
      break;
    case kCudnnIdentity:
      number = operand(0);
      break;
    case kCudnnGreaterEqual:
      number = operand(0) >= operand(1);
      break;
    case kCudnnIndex:
      number = static_cast<float>(at[static_cast<size_t>(op.axis)]);
      break;
    case kCudnnSelect:
      number = operand(2) != 0 ? operand(0) : operand(1);
      break;
    }
  });
}

} // namespace standin::cudnn

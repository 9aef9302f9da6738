// Computes a graph of cuDNN operation by operation in f32.
#pragma once

#include "test/standins/CudnnDescriptors.h"

#include <map>
#include <vector>

namespace standin::cudnn {

using namespace st::cuda;

using Pointers = std::map<int64_t, uint8_t *>; // by unique id

/// The data of a descriptor when a plan runs: the program may have destroyed the descriptor.
struct Tensor {
  explicit Tensor(const Desc &desc)
      : id(desc.number(kCudnnTensorId)), type(desc.number(kCudnnTensorType)),
        dims(desc.extents(kCudnnTensorDims)), strides(desc.extents(kCudnnTensorStrides)),
        isVirtual(desc.number(kCudnnTensorIsVirtual)),
        isByValue(desc.number(kCudnnTensorIsByValue)) {}

  int64_t id, type;
  Extents dims, strides;
  bool isVirtual, isByValue;

  int64_t size() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
  int64_t bytes() const {
    int64_t last = 0;
    for (size_t dim = 0; dim < 4; ++dim)
      last += (dims[dim] - 1) * strides[dim];
    return (last + 1) * widthOf(type);
  }
};

struct Operation {
  int kind;
  int64_t mode = 0, axis = 0;
  std::vector<Tensor> operands; // the last one is the result
};

/// The operation of a descriptor, with copies of its tensors.
Operation describe(const Desc &op);

class Run {
public:
  explicit Run(Pointers pointers) : pointers(std::move(pointers)) {}

  void run(const Operation &op);

private:
  Pointers pointers;
  std::map<int64_t, std::vector<float>> values;

  const std::vector<float> &read(const Tensor &tensor);
  void transpose(const Operation &op, std::vector<float> &result);
  void multiply(const Operation &op, std::vector<float> &result);
  void reduce(const Operation &op, std::vector<float> &result);
  void apply(const Operation &op, std::vector<float> &result);
};

} // namespace standin::cudnn

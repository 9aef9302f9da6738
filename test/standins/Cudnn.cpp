// Replacement of libcudnn.so.9: see Streams.h. Computes a graph operation by operation in f32, from
// its descriptors. Recognises the graphs of attention that NVIDIA's engines accept by the kinds of
// their operations, and rejects all others. ST_STANDIN_CUDNN="old" has too low a version, "none"
// has no engines; plans of "fails" do not run, those of "wrong" compute other results, those of
// "wrong-gradient" only other gradients, and those of "unwritten" nothing.
#include "backends/cuda/runtime/libraries/CudnnLibrary.h"
#include "lib/Support/Float16.h"
#include "test/standins/Faults.h"
#include "test/standins/Streams.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace st;
using namespace st::cuda;

namespace {

constexpr int kSuccess = 0, kBadParam = 2000, kNotSupported = 3000, kExecutionFailed = 5000;
constexpr int64_t kWorkspaceBytes = 256; // of an engine
thread_local std::string lastError;

int fail(int status, const std::string &why) {
  lastError = why;
  return status;
}

using Extents = std::array<int64_t, 4>;

struct Desc {
  explicit Desc(int kind) : kind(kind) {}

  const int kind;
  bool isFinal = false;
  std::map<int, std::vector<int64_t>> numbers;
  std::map<int, std::vector<const void *>> pointers; // also other descriptors

  int64_t number(int attribute, int64_t otherwise = 0) const {
    auto it = numbers.find(attribute);
    return it == numbers.end() ? otherwise : it->second.front();
  }
  const Desc *other(int attribute) const {
    auto it = pointers.find(attribute);
    return it == pointers.end() ? nullptr : static_cast<const Desc *>(it->second.front());
  }
  Extents extents(int attribute) const {
    Extents made{};
    std::copy_n(numbers.at(attribute).begin(), 4, made.begin());
    return made;
  }
};

bool isSwitchedTo(const char *value) {
  const char *text = std::getenv("ST_STANDIN_CUDNN");
  return text && std::strcmp(text, value) == 0;
}

// ---- what is finalised --------------------------------------------------------------------------

int64_t widthOf(int64_t type) { return type == kCudnnF16 || type == kCudnnBF16 ? 2 : 4; }

int checkTensor(const Desc &tensor) {
  for (int attribute : {kCudnnTensorType, kCudnnTensorDims, kCudnnTensorStrides, kCudnnTensorId,
                        kCudnnTensorAlignment})
    if (!tensor.numbers.count(attribute))
      return fail(kBadParam, "a tensor lacks an attribute");
  for (int attribute : {kCudnnTensorDims, kCudnnTensorStrides}) {
    const std::vector<int64_t> &numbers = tensor.numbers.at(attribute);
    if (numbers.size() != 4 || *std::min_element(numbers.begin(), numbers.end()) < 1)
      return fail(kBadParam, "a tensor has not four dimensions, all with elements and strides");
  }
  return kSuccess;
}

int checkProduct(const Desc &op) {
  const Desc *a = op.other(kCudnnMatmulOpA), *b = op.other(kCudnnMatmulOpB),
             *c = op.other(kCudnnMatmulOpC), *how = op.other(kCudnnMatmulOpDesc);
  if (!a || !b || !c || !how || how->number(kCudnnMatmulPrecision, -1) != kCudnnF32)
    return fail(kBadParam, "a product lacks an attribute");
  const Extents left = a->extents(kCudnnTensorDims), right = b->extents(kCudnnTensorDims),
                made = c->extents(kCudnnTensorDims);
  if (left[3] != right[2] || made[2] != left[2] || made[3] != right[3] || made[0] != left[0] ||
      made[1] != left[1] || right[0] != left[0] || right[1] != left[1])
    return fail(kBadParam, "a product of matrices that do not fit");
  // Intermediate results are rounded to the type of the other matrix.
  const bool isBetween =
      a->number(kCudnnTensorIsVirtual) && a->number(kCudnnTensorType) == kCudnnF32;
  if ((a->number(kCudnnTensorType) != b->number(kCudnnTensorType) && !isBetween) ||
      widthOf(b->number(kCudnnTensorType)) != 2)
    return fail(kNotSupported, "a product of other than 16-bit matrices of one type");
  return kSuccess;
}

/// Extents of 1 are repeated.
bool fits(const Desc &operand, const Desc &result) {
  const Extents own = operand.extents(kCudnnTensorDims), all = result.extents(kCudnnTensorDims);
  for (size_t dim = 0; dim < own.size(); ++dim)
    if (own[dim] != all[dim] && own[dim] != 1)
      return false;
  return true;
}

int checkPointwise(const Desc &op) {
  const Desc *how = op.other(kCudnnPointwiseOpDesc), *x = op.other(kCudnnPointwiseOpX),
             *y = op.other(kCudnnPointwiseOpY);
  if (!how || !x || !y)
    return fail(kBadParam, "an elementwise operation lacks an attribute");
  for (int attribute : {kCudnnPointwiseOpX, kCudnnPointwiseOpB, kCudnnPointwiseOpT})
    if (const Desc *operand = op.other(attribute); operand && !fits(*operand, *y))
      return fail(kBadParam, "an elementwise operation on tensors that do not fit");
  const int64_t mode = how->number(kCudnnPointwiseMode),
                precision = how->number(kCudnnPointwisePrecision);
  const int64_t expected = mode == kCudnnIndex          ? kCudnnI32
                           : mode == kCudnnGreaterEqual ? kCudnnBool
                                                        : kCudnnF32;
  return precision == expected ? kSuccess : fail(kBadParam, "an operation of another precision");
}

int checkReduction(const Desc &op) {
  const Desc *x = op.other(kCudnnReductionOpX), *y = op.other(kCudnnReductionOpY),
             *how = op.other(kCudnnReductionOpDesc);
  if (!x || !y || !how)
    return fail(kBadParam, "a reduction lacks an attribute");
  Extents reduced = x->extents(kCudnnTensorDims);
  reduced[3] = 1;
  return reduced == y->extents(kCudnnTensorDims)
             ? kSuccess
             : fail(kNotSupported, "a reduction along another dimension than the last");
}

int checkReshape(const Desc &op) {
  const Desc *x = op.other(kCudnnReshapeOpX), *y = op.other(kCudnnReshapeOpY);
  if (!x || !y)
    return fail(kBadParam, "a reshape lacks an attribute");
  Extents turned = x->extents(kCudnnTensorDims);
  std::swap(turned[2], turned[3]);
  return turned == y->extents(kCudnnTensorDims) && y->extents(kCudnnTensorStrides)[2] == 1
             ? kSuccess
             : fail(kNotSupported, "a reshape that is no transpose");
}

/// NVIDIA documents engines for heads of up to 128 elements. This number and the distance of rows are
/// multiples of 8.
bool hasHeads(const Desc &graph) {
  constexpr int64_t most = 128, multiple = 8;
  for (const void *pointer : graph.pointers.at(kCudnnGraphOps)) {
    const Desc &op = *static_cast<const Desc *>(pointer);
    if (op.kind != kCudnnMatmulOp)
      continue;
    for (int attribute : {kCudnnMatmulOpA, kCudnnMatmulOpB, kCudnnMatmulOpC}) {
      const Desc &tensor = *op.other(attribute);
      if (tensor.number(kCudnnTensorIsVirtual))
        continue;
      const Extents dims = tensor.extents(kCudnnTensorDims);
      const Extents strides = tensor.extents(kCudnnTensorStrides);
      const size_t inner = strides[3] == 1 ? 3 : 2; // The other is that of rows.
      if (dims[inner] % multiple != 0 || dims[inner] > most || strides[5 - inner] % multiple != 0)
        return false;
    }
  }
  return true;
}

/// Recomputes probabilities from the logarithms of sums, and from these the gradients: of q in f32.
bool isGradient(const Desc &graph) {
  int products = 0, reshapes = 0, sums = 0, exponentials = 0;
  bool sumsInF32 = false;
  for (const void *pointer : graph.pointers.at(kCudnnGraphOps)) {
    const Desc &op = *static_cast<const Desc *>(pointer);
    products += op.kind == kCudnnMatmulOp;
    reshapes += op.kind == kCudnnReshapeOp;
    sums += op.kind == kCudnnReductionOp;
    if (op.kind == kCudnnPointwiseOp)
      exponentials += op.other(kCudnnPointwiseOpDesc)->number(kCudnnPointwiseMode) == kCudnnExp;
    if (op.kind == kCudnnMatmulOp) {
      const Desc &made = *op.other(kCudnnMatmulOpC);
      sumsInF32 |=
          !made.number(kCudnnTensorIsVirtual) && made.number(kCudnnTensorType) == kCudnnF32;
    }
  }
  return products == 5 && reshapes == 2 && sums == 1 && exponentials == 1 && sumsInF32;
}

/// Scores, a softmax that stores the logarithms of its sums, and the product with values.
bool isAttention(const Desc &graph) {
  int products = 0, maxima = 0, sums = 0, logarithms = 0;
  bool keepsLogSums = false;
  for (const void *pointer : graph.pointers.at(kCudnnGraphOps)) {
    const Desc &op = *static_cast<const Desc *>(pointer);
    if (op.kind == kCudnnMatmulOp) {
      ++products;
      // Rows are adjacent; a transposed matrix has adjacent columns.
      const Extents strides = op.other(kCudnnMatmulOpB)->extents(kCudnnTensorStrides);
      if (strides[products == 1 ? 2 : 3] != 1)
        return false;
    }
    if (op.kind == kCudnnReductionOp)
      ++(op.other(kCudnnReductionOpDesc)->number(kCudnnReductionOperator) == kCudnnReduceMax
             ? maxima
             : sums);
    if (op.kind == kCudnnPointwiseOp) {
      logarithms += op.other(kCudnnPointwiseOpDesc)->number(kCudnnPointwiseMode) == kCudnnLog;
      const Desc &y = *op.other(kCudnnPointwiseOpY);
      keepsLogSums |= y.number(kCudnnTensorIsVirtual) == 0 && y.extents(kCudnnTensorDims)[3] == 1;
    }
  }
  return products == 2 && maxima == 1 && sums == 1 && logarithms == 1 && keepsLogSums;
}

// ---- what is computed ---------------------------------------------------------------------------

using Pointers = std::map<int64_t, uint8_t *>; // by unique id

float readElement(const uint8_t *memory, int64_t type, int64_t at) {
  if (type == kCudnnF16)
    return static_cast<float>(reinterpret_cast<const Float16 *>(memory)[at]);
  if (type == kCudnnBF16)
    return static_cast<float>(reinterpret_cast<const BFloat16 *>(memory)[at]);
  return reinterpret_cast<const float *>(memory)[at];
}

/// Rounds to an element type, also without storing the value.
float roundTo(int64_t type, float x) {
  return type == kCudnnF16    ? static_cast<float>(static_cast<Float16>(x))
         : type == kCudnnBF16 ? static_cast<float>(static_cast<BFloat16>(x))
                              : x;
}

void writeElement(uint8_t *memory, int64_t type, int64_t at, float x) {
  if (type == kCudnnF16)
    reinterpret_cast<Float16 *>(memory)[at] = static_cast<Float16>(x);
  else if (type == kCudnnBF16)
    reinterpret_cast<BFloat16 *>(memory)[at] = static_cast<BFloat16>(x);
  else
    reinterpret_cast<float *>(memory)[at] = x;
}

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

template <class Visit> void forEach(const Extents &dims, Visit visit) {
  Extents at{};
  for (at[0] = 0; at[0] < dims[0]; ++at[0])
    for (at[1] = 0; at[1] < dims[1]; ++at[1])
      for (at[2] = 0; at[2] < dims[2]; ++at[2])
        for (at[3] = 0; at[3] < dims[3]; ++at[3])
          visit(at);
}

struct Operation {
  int kind;
  int64_t mode = 0, axis = 0;
  std::vector<Tensor> operands; // the last one is the result
};

class Run {
public:
  explicit Run(Pointers pointers) : pointers(std::move(pointers)) {}

  void run(const Operation &op) {
    const Tensor &made = op.operands.back();
    std::vector<float> &numbers = values[made.id];
    numbers.assign(static_cast<size_t>(made.size()), 0);
    if (op.kind == kCudnnMatmulOp)
      multiply(op, numbers);
    else if (op.kind == kCudnnReductionOp)
      reduce(op, numbers);
    else if (op.kind == kCudnnReshapeOp)
      transpose(op, numbers);
    else
      apply(op, numbers);
    for (float &number : numbers)
      number = roundTo(made.type, number);
    if (made.isVirtual)
      return;
    // Engines accumulate the f32 results of products into existing contents.
    const bool adds = op.kind == kCudnnMatmulOp && made.type == kCudnnF32;
    forEach(made.dims, [&](const Extents &at) {
      float &number = numbers[static_cast<size_t>(place(at, made.dims))];
      const int64_t to = offset(at, made.strides);
      number += adds ? readElement(pointers.at(made.id), made.type, to) : 0;
      writeElement(pointers.at(made.id), made.type, to, number);
    });
  }

private:
  Pointers pointers;
  std::map<int64_t, std::vector<float>> values;

  static int64_t offset(const Extents &at, const Extents &strides) {
    return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] + at[3] * strides[3];
  }
  static int64_t place(const Extents &at, const Extents &dims) {
    return ((at[0] * dims[1] + at[1]) * dims[2] + at[2]) * dims[3] + at[3];
  }

  const std::vector<float> &read(const Tensor &tensor) {
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

  void transpose(const Operation &op, std::vector<float> &made) {
    const std::vector<float> &x = read(op.operands[0]);
    forEach(op.operands[1].dims, [&](const Extents &at) {
      made[static_cast<size_t>(place(at, op.operands[1].dims))] =
          x[static_cast<size_t>(place({at[0], at[1], at[3], at[2]}, op.operands[0].dims))];
    });
  }

  void multiply(const Operation &op, std::vector<float> &made) {
    std::vector<float> a = read(op.operands[0]);
    const std::vector<float> &b = read(op.operands[1]);
    for (float &number : a)
      number = roundTo(op.operands[1].type, number);
    const Extents &left = op.operands[0].dims, &right = op.operands[1].dims;
    const int64_t m = left[2], n = right[3], k = left[3];
    for (int64_t batch = 0; batch < left[0] * left[1]; ++batch)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t depth = 0; depth < k; ++depth) {
          const float factor = a[static_cast<size_t>((batch * m + i) * k + depth)];
          for (int64_t j = 0; j < n; ++j)
            made[static_cast<size_t>((batch * m + i) * n + j)] +=
                factor * b[static_cast<size_t>((batch * k + depth) * n + j)];
        }
  }

  void reduce(const Operation &op, std::vector<float> &made) {
    const std::vector<float> &x = read(op.operands[0]);
    const auto columns = static_cast<size_t>(op.operands[0].dims[3]);
    for (size_t row = 0; row < made.size(); ++row) {
      made[row] = x[row * columns];
      for (size_t column = 1; column < columns; ++column) {
        const float next = x[row * columns + column];
        made[row] = op.mode == kCudnnReduceMax ? std::max(made[row], next) : made[row] + next;
      }
    }
  }

  void apply(const Operation &op, std::vector<float> &made) {
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
      float &number = made[static_cast<size_t>(place(at, dims))];
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
};

Operation describe(const Desc &op) {
  Operation made{op.kind};
  auto add = [&](int attribute) {
    if (const Desc *tensor = op.other(attribute))
      made.operands.emplace_back(*tensor);
  };
  if (op.kind == kCudnnMatmulOp) {
    add(kCudnnMatmulOpA), add(kCudnnMatmulOpB), add(kCudnnMatmulOpC);
  } else if (op.kind == kCudnnReshapeOp) {
    add(kCudnnReshapeOpX), add(kCudnnReshapeOpY);
  } else if (op.kind == kCudnnReductionOp) {
    made.mode = op.other(kCudnnReductionOpDesc)->number(kCudnnReductionOperator);
    add(kCudnnReductionOpX), add(kCudnnReductionOpY);
  } else {
    made.mode = op.other(kCudnnPointwiseOpDesc)->number(kCudnnPointwiseMode);
    made.axis = op.other(kCudnnPointwiseOpDesc)->number(kCudnnPointwiseAxis);
    add(kCudnnPointwiseOpX), add(kCudnnPointwiseOpB), add(kCudnnPointwiseOpT);
    add(kCudnnPointwiseOpY);
  }
  return made;
}

struct Library {
  void *stream = nullptr;
};

} // namespace

extern "C" {

size_t cudnnGetVersion() { return isSwitchedTo("old") ? 90100 : 91900; }

void cudnnGetLastErrorString(char *text, size_t bytes) {
  std::snprintf(text, bytes, "%s", lastError.c_str());
}

int cudnnCreate(void **library) {
  if (int planned = standin::findFailure(__func__))
    return planned;
  *library = new Library;
  return standin::currentGpu() < 0 ? fail(kExecutionFailed, "no GPU is entered") : kSuccess;
}
int cudnnDestroy(void *library) {
  delete static_cast<Library *>(library);
  return kSuccess;
}
int cudnnSetStream(void *library, void *stream) {
  static_cast<Library *>(library)->stream = stream;
  return kSuccess;
}

int cudnnBackendCreateDescriptor(int kind, void **desc) {
  *desc = new Desc(kind);
  return kSuccess;
}
int cudnnBackendDestroyDescriptor(void *desc) {
  delete static_cast<Desc *>(desc);
  return kSuccess;
}

int cudnnBackendSetAttribute(void *descriptor, int attribute, int type, int64_t count,
                             const void *elements) {
  auto &desc = *static_cast<Desc *>(descriptor);
  if (desc.isFinal || count < 1)
    return fail(kBadParam, "an attribute of a finalised descriptor");
  std::vector<int64_t> &numbers = desc.numbers[attribute];
  numbers.clear();
  for (int64_t i = 0; i < count; ++i)
    switch (type) {
    case kCudnnInt64Type:
      numbers.push_back(static_cast<const int64_t *>(elements)[i]);
      break;
    case kCudnnBoolType:
      numbers.push_back(static_cast<const bool *>(elements)[i]);
      break;
    case kCudnnDataTypeType:
    case kCudnnHeuristicsType:
    case kCudnnPointwiseType:
    case kCudnnReductionType:
      numbers.push_back(static_cast<const int *>(elements)[i]);
      break;
    case kCudnnDescriptorType: {
      const void *other = static_cast<void *const *>(elements)[i];
      if (!static_cast<const Desc *>(other)->isFinal)
        return fail(kBadParam, "a descriptor that is not finalised");
      if (i == 0)
        desc.pointers[attribute].clear();
      desc.pointers[attribute].push_back(other);
      break;
    }
    case kCudnnPointerType:
    case kCudnnHandleType:
      if (i == 0)
        desc.pointers[attribute].clear();
      desc.pointers[attribute].push_back(static_cast<void *const *>(elements)[i]);
      break;
    default:
      return fail(kBadParam, "an attribute of an unknown type");
    }
  return kSuccess;
}

int cudnnBackendFinalize(void *descriptor) {
  if (int planned = standin::findFailure(__func__))
    return planned;
  auto &desc = *static_cast<Desc *>(descriptor);
  int status = kSuccess;
  switch (desc.kind) {
  case kCudnnTensor:
    status = checkTensor(desc);
    break;
  case kCudnnMatmulOp:
    status = checkProduct(desc);
    break;
  case kCudnnPointwiseOp:
    status = checkPointwise(desc);
    break;
  case kCudnnReductionOp:
    status = checkReduction(desc);
    break;
  case kCudnnReshapeOp:
    status = checkReshape(desc);
    break;
  case kCudnnHeuristics:
  case kCudnnGraph:
    if (!desc.pointers.count(desc.kind == kCudnnGraph ? kCudnnGraphOps : kCudnnHeuristicsGraph))
      status = fail(kBadParam, "a graph without operations");
    break;
  case kCudnnPlan:
    if (!desc.pointers.count(kCudnnPlanConfig) || !desc.pointers.count(kCudnnPlanHandle))
      status = fail(kBadParam, "a plan without a configuration or a handle");
    break;
  case kCudnnVariantPack:
    if (desc.numbers[kCudnnPackIds].size() != desc.pointers[kCudnnPackPointers].size())
      status = fail(kBadParam, "as many pointers as tensors are expected");
    break;
  }
  desc.isFinal = status == kSuccess;
  return status;
}

int cudnnBackendGetAttribute(void *descriptor, int attribute, int, int64_t most, int64_t *count,
                             void *elements) {
  const auto &desc = *static_cast<Desc *>(descriptor);
  if (!desc.isFinal || most < 1)
    return fail(kBadParam, "an attribute of a descriptor that is not finalised");
  *count = 1;
  if (attribute == kCudnnPlanWorkspace) {
    *static_cast<int64_t *>(elements) = kWorkspaceBytes;
    return kSuccess;
  }
  if (attribute != kCudnnHeuristicsResults)
    return fail(kBadParam, "an attribute that is not there");
  const Desc *graph = desc.other(kCudnnHeuristicsGraph);
  if (isSwitchedTo("none") || !hasHeads(*graph) || (!isAttention(*graph) && !isGradient(*graph))) {
    *count = 0;
    return kSuccess;
  }
  auto &config = **static_cast<Desc **>(elements);
  config.pointers[kCudnnHeuristicsGraph] = {graph};
  config.isFinal = true;
  return kSuccess;
}

int cudnnBackendExecute(void *handle, void *planned, void *variantPack) {
  if (int planned = standin::findFailure(__func__))
    return planned;
  const auto &plan = *static_cast<Desc *>(planned), &pack = *static_cast<Desc *>(variantPack);
  if (!plan.isFinal || !pack.isFinal || plan.pointers.at(kCudnnPlanHandle).front() != handle)
    return fail(kBadParam, "a plan or its pointers are not finalised");
  const Desc &graph = *plan.other(kCudnnPlanConfig)->other(kCudnnHeuristicsGraph);
  Pointers pointers;
  const std::vector<int64_t> &ids = pack.numbers.at(kCudnnPackIds);
  for (size_t i = 0; i < ids.size(); ++i)
    pointers[ids[i]] =
        static_cast<uint8_t *>(const_cast<void *>(pack.pointers.at(kCudnnPackPointers)[i]));
  void *workspace = const_cast<void *>(pack.pointers.at(kCudnnPackWorkspace).front());
  if (!standin::isTaken(reinterpret_cast<uint64_t>(workspace), kWorkspaceBytes))
    return fail(kBadParam, "the workspace is no memory of a GPU");
  if (isSwitchedTo("fails"))
    return fail(kExecutionFailed, "an engine does not run");
  if (reinterpret_cast<uint64_t>(workspace) % 256 != 0)
    return fail(kBadParam, "the workspace is not aligned to 256 bytes");
  const bool isWrong = isSwitchedTo("wrong"), isUnwritten = isSwitchedTo("unwritten");
  const bool isGradientWrong = isSwitchedTo("wrong-gradient");
  auto operations = std::make_shared<std::vector<Operation>>();
  auto onHost = std::make_shared<std::map<int64_t, float>>(); // Read now: they are the caller's.
  for (const void *op : graph.pointers.at(kCudnnGraphOps))
    for (const Tensor &tensor :
         operations->emplace_back(describe(*static_cast<const Desc *>(op))).operands) {
      if (tensor.isVirtual)
        continue;
      auto it = pointers.find(tensor.id);
      if (it == pointers.end())
        return fail(kBadParam, "a tensor in memory has no pointer");
      const auto address = reinterpret_cast<uint64_t>(it->second);
      if (tensor.isByValue)
        (*onHost)[tensor.id] = *reinterpret_cast<const float *>(it->second);
      else if (address % 16 != 0 || !standin::isTaken(address, static_cast<size_t>(tensor.bytes())))
        return fail(kBadParam, "a tensor is not aligned, or lies in no memory of a GPU");
    }
  const int given = standin::enqueue(static_cast<Library *>(handle)->stream, [=]() mutable {
    // Engines overwrite their workspace, so it must not be in use.
    std::memset(workspace, 0x5a, kWorkspaceBytes);
    for (auto &[id, number] : *onHost)
      pointers[id] = reinterpret_cast<uint8_t *>(&number);
    Run run(pointers);
    int differences = 0; // A gradient has two.
    for (Operation op : *operations) {
      const bool isDifference = op.kind == kCudnnPointwiseOp && op.mode == kCudnnSub;
      differences += isDifference;
      if (isDifference && (isWrong || (isGradientWrong && differences == 2)))
        op.mode = kCudnnAdd;
      if (!isUnwritten)
        run.run(op);
    }
    return 0;
  });
  return given == 0 ? kSuccess : fail(kExecutionFailed, "the stream takes no work");
}

} // extern "C"

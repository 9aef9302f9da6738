#include "test/standins/CudnnDescriptors.h"

using namespace st::cuda;

namespace standin::cudnn {

static thread_local std::string reason;

int fail(int status, const std::string &why) {
  reason = why;
  return status;
}
const std::string &lastError() { return reason; }

int64_t widthOf(int64_t type) { return type == kCudnnF16 || type == kCudnnBF16 ? 2 : 4; }

static int checkTensor(const Desc &tensor) {
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

static int checkProduct(const Desc &op) {
  const Desc *a = op.other(kCudnnMatmulOpA), *b = op.other(kCudnnMatmulOpB),
             *c = op.other(kCudnnMatmulOpC), *how = op.other(kCudnnMatmulOpDesc);
  if (!a || !b || !c || !how || how->number(kCudnnMatmulPrecision, -1) != kCudnnF32)
    return fail(kBadParam, "a product lacks an attribute");
  const Extents left = a->extents(kCudnnTensorDims), right = b->extents(kCudnnTensorDims),
                created = c->extents(kCudnnTensorDims);
  if (left[3] != right[2] || created[2] != left[2] || created[3] != right[3] ||
      created[0] != left[0] || created[1] != left[1] || right[0] != left[0] ||
      left[1] % right[1] != 0)
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
static bool fits(const Desc &operand, const Desc &result) {
  const Extents own = operand.extents(kCudnnTensorDims), all = result.extents(kCudnnTensorDims);
  for (size_t dim = 0; dim < own.size(); ++dim)
    if (own[dim] != all[dim] && own[dim] != 1)
      return false;
  return true;
}

static int checkPointwise(const Desc &op) {
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

static int checkReduction(const Desc &op) {
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

static int checkReshape(const Desc &op) {
  const Desc *x = op.other(kCudnnReshapeOpX), *y = op.other(kCudnnReshapeOpY);
  if (!x || !y)
    return fail(kBadParam, "a reshape lacks an attribute");
  Extents transposed = x->extents(kCudnnTensorDims);
  std::swap(transposed[2], transposed[3]);
  return transposed == y->extents(kCudnnTensorDims) && y->extents(kCudnnTensorStrides)[2] == 1
             ? kSuccess
             : fail(kNotSupported, "a reshape that is no transpose");
}

/// NVIDIA documents engines for heads of up to 128 elements. This number and the distance of rows
/// are multiples of 8.
static bool hasHeads(const Desc &graph) {
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
static bool isGradient(const Desc &graph) {
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
      const Desc &output = *op.other(kCudnnMatmulOpC);
      sumsInF32 |=
          !output.number(kCudnnTensorIsVirtual) && output.number(kCudnnTensorType) == kCudnnF32;
    }
  }
  return products == 5 && reshapes == 2 && sums == 1 && exponentials == 1 && sumsInF32;
}

/// Scores, a softmax that stores the logarithms of its sums, and the product with values.
static bool isAttention(const Desc &graph) {
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

int check(Desc &desc) {
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
  return status;
}

bool hasEngine(const Desc &graph) {
  return hasHeads(graph) && (isAttention(graph) || isGradient(graph));
}

} // namespace standin::cudnn

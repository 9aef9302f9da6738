#include "backends/cuda/runtime/libraries/CudnnGraph.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace st::cuda {

/// The number of proposed engines to try, best first.
static constexpr int64_t kMaxEngines = 8;
static constexpr int64_t kAlignment = 16; // of tensors in memory

// ---- descriptors --------------------------------------------------------------------------------

CudnnDesc::CudnnDesc(const Cudnn &cudnn, CudnnKind kind, absl::string_view what)
    : cudnn(cudnn), what(what) {
  status = cudnn.check(cudnn.createDesc(kind, &desc), what);
}

CudnnDesc::~CudnnDesc() {
  if (desc)
    cudnn.destroyDesc(desc);
}

CudnnDesc &CudnnDesc::set(CudnnAttribute attribute, CudnnType type, int64_t count,
                          const void *elements) {
  if (status.ok())
    status = cudnn.check(cudnn.setAttribute(desc, attribute, type, count, elements), what);
  return *this;
}

CudnnDesc &CudnnDesc::set(CudnnAttribute attribute, const CudnnDesc &other) {
  status.Update(other.status);
  return set(attribute, kCudnnDescriptorType, 1, &other.desc);
}

CudnnDesc &CudnnDesc::finalize() {
  if (status.ok())
    status = cudnn.check(cudnn.finalize(desc), what);
  return *this;
}

// ---- tensors ------------------------------------------------------------------------------------

CudnnGraph::Tensor CudnnGraph::add(CudnnData type, Extents extents, Extents strides, Where where) {
  auto id = static_cast<int64_t>(tensors.size()) + 1;
  Known &known = tensors.emplace_back();
  known.extents = extents;
  known.desc = std::make_unique<CudnnDesc>(cudnn, kCudnnTensor, "describing a tensor");
  const bool yes = true;
  known.desc->set(kCudnnTensorType, kCudnnDataTypeType, type)
      .set(kCudnnTensorDims, extents)
      .set(kCudnnTensorStrides, strides)
      .set(kCudnnTensorId, {id})
      .set(kCudnnTensorAlignment, {kAlignment});
  if (where == Where::Nowhere)
    known.desc->set(kCudnnTensorIsVirtual, kCudnnBoolType, 1, &yes);
  if (where == Where::OnHost)
    known.desc->set(kCudnnTensorIsByValue, kCudnnBoolType, 1, &yes);
  known.desc->finalize();
  return id;
}

CudnnGraph::Tensor CudnnGraph::inMemory(CudnnData type, const Extents &extents,
                                        const Extents &strides) {
  return add(type, extents, strides, Where::InMemory);
}

CudnnGraph::Tensor CudnnGraph::byValue() {
  return add(kCudnnF32, {1, 1, 1, 1}, {1, 1, 1, 1}, Where::OnHost);
}

CudnnGraph::Tensor CudnnGraph::addResult(CudnnData type, Extents extents, Tensor result) {
  if (result)
    return result;
  Extents strides = {0, 0, extents[3], 1};
  strides[1] = strides[2] * extents[2];
  strides[0] = strides[1] * extents[1];
  return add(type, extents, strides, Where::Nowhere);
}

// ---- operations ---------------------------------------------------------------------------------

CudnnDesc &CudnnGraph::addPart(CudnnKind kind, absl::string_view what) {
  return *parts.emplace_back(std::make_unique<CudnnDesc>(cudnn, kind, what));
}

CudnnDesc &CudnnGraph::addOp(CudnnKind kind, absl::string_view what) {
  return *ops.emplace_back(std::make_unique<CudnnDesc>(cudnn, kind, what));
}

CudnnGraph::Tensor CudnnGraph::multiply(Tensor a, Tensor b, CudnnData type, Tensor result) {
  const Extents left = extents(a), right = extents(b);
  result = addResult(type, {left[0], left[1], left[2], right[3]}, result);
  CudnnDesc &product = addPart(kCudnnMatmul, "describing a product")
                           .set(kCudnnMatmulPrecision, kCudnnDataTypeType, kCudnnF32)
                           .finalize();
  addOp(kCudnnMatmulOp, "describing a product")
      .set(kCudnnMatmulOpA, desc(a))
      .set(kCudnnMatmulOpB, desc(b))
      .set(kCudnnMatmulOpC, desc(result))
      .set(kCudnnMatmulOpDesc, product)
      .finalize();
  return result;
}

CudnnDesc &CudnnGraph::addPointwise(CudnnPointwiseOp op, int precision, Tensor x, Tensor y,
                                    int64_t axis) {
  CudnnDesc &pointwise = addPart(kCudnnPointwise, "describing an elementwise operation")
                             .set(kCudnnPointwiseMode, kCudnnPointwiseType, op)
                             .set(kCudnnPointwisePrecision, kCudnnDataTypeType, precision);
  if (axis >= 0)
    pointwise.set(kCudnnPointwiseAxis, {axis});
  pointwise.finalize();
  return addOp(kCudnnPointwiseOp, "describing an elementwise operation")
      .set(kCudnnPointwiseOpDesc, pointwise)
      .set(kCudnnPointwiseOpX, desc(x))
      .set(kCudnnPointwiseOpY, desc(y));
}

CudnnGraph::Tensor CudnnGraph::combine(CudnnPointwiseOp op, Tensor x, Tensor b, CudnnData type,
                                       Tensor result) {
  result = addResult(type, extents(x), result);
  addPointwise(op, type == kCudnnBool ? kCudnnBool : kCudnnF32, x, result)
      .set(kCudnnPointwiseOpB, desc(b))
      .finalize();
  return result;
}

CudnnGraph::Tensor CudnnGraph::apply(CudnnPointwiseOp op, Tensor x, Tensor result) {
  result = addResult(kCudnnF32, extents(x), result);
  addPointwise(op, kCudnnF32, x, result).finalize();
  return result;
}

CudnnGraph::Tensor CudnnGraph::select(Tensor predicate, Tensor x, Tensor otherwise) {
  const Tensor result = addResult(kCudnnF32, extents(x), 0);
  addPointwise(kCudnnSelect, kCudnnF32, x, result)
      .set(kCudnnPointwiseOpB, desc(otherwise))
      .set(kCudnnPointwiseOpT, desc(predicate))
      .finalize();
  return result;
}

CudnnGraph::Tensor CudnnGraph::transpose(Tensor x, CudnnData type) {
  const Extents own = extents(x);
  const Tensor result = add(type, {own[0], own[1], own[3], own[2]},
                            {own[1] * own[2] * own[3], own[2] * own[3], 1, own[3]}, Where::Nowhere);
  addOp(kCudnnReshapeOp, "describing a transpose")
      .set(kCudnnReshapeOpX, desc(x))
      .set(kCudnnReshapeOpY, desc(result))
      .finalize();
  return result;
}

CudnnGraph::Tensor CudnnGraph::indexAlong(int64_t dimension, Tensor like) {
  const Tensor result = addResult(kCudnnI32, extents(like), 0);
  addPointwise(kCudnnIndex, kCudnnI32, like, result, dimension).finalize();
  return result;
}

CudnnGraph::Tensor CudnnGraph::reduce(int op, Tensor x, Tensor result) {
  Extents reduced = extents(x);
  reduced[3] = 1;
  result = addResult(kCudnnF32, reduced, result);
  CudnnDesc &reduction = addPart(kCudnnReduction, "describing a reduction")
                             .set(kCudnnReductionOperator, kCudnnReductionType, op)
                             .set(kCudnnReductionPrecision, kCudnnDataTypeType, kCudnnF32)
                             .finalize();
  addOp(kCudnnReductionOp, "describing a reduction")
      .set(kCudnnReductionOpX, desc(x))
      .set(kCudnnReductionOpY, desc(result))
      .set(kCudnnReductionOpDesc, reduction)
      .finalize();
  return result;
}

// ---- plans --------------------------------------------------------------------------------------

absl::Status CudnnGraph::status() const {
  absl::Status first;
  for (const Known &tensor : tensors)
    first.Update(tensor.desc->status);
  for (const auto *list : {&parts, &ops})
    for (const std::unique_ptr<CudnnDesc> &each : *list)
      first.Update(each->status);
  return first;
}

absl::StatusOr<std::unique_ptr<CudnnDesc>>
CudnnGraph::plan(const CudnnTarget &target, int64_t maxWorkspace, int64_t &workspace) {
  ST_RETURN_IF_ERROR(status());
  std::vector<Handle> operations;
  for (const std::unique_ptr<CudnnDesc> &op : ops)
    operations.push_back(op->desc);
  CudnnDesc &graph = addPart(kCudnnGraph, "describing a graph")
                         .set(kCudnnGraphOps, kCudnnDescriptorType,
                              static_cast<int64_t>(operations.size()), operations.data());
  if (target.library)
    graph.set(kCudnnGraphHandle, kCudnnHandleType, 1, &target.library);
  graph.finalize();
  CudnnDesc &heuristics = addPart(kCudnnHeuristics, "choosing an engine")
                              .set(kCudnnHeuristicsGraph, graph)
                              .set(kCudnnHeuristicsMode, kCudnnHeuristicsType, kCudnnHeuristicsA);
  if (target.device)
    heuristics.set(kCudnnHeuristicsDevice, *target.device);
  heuristics.finalize();
  std::vector<std::unique_ptr<CudnnDesc>> configs;
  std::vector<Handle> found;
  for (int64_t i = 0; i < kMaxEngines; ++i) {
    configs.push_back(std::make_unique<CudnnDesc>(cudnn, kCudnnEngineConfig, "choosing an engine"));
    heuristics.status.Update(configs.back()->status);
    found.push_back(configs.back()->desc);
  }
  ST_RETURN_IF_ERROR(heuristics.status);
  int64_t count = 0;
  ST_RETURN_IF_ERROR(
      cudnn.check(cudnn.getAttribute(heuristics.desc, kCudnnHeuristicsResults, kCudnnDescriptorType,
                                     kMaxEngines, &count, found.data()),
                  "choosing an engine"));
  absl::Status refused = absl::UnimplementedError("cuDNN has no engine for this graph");
  for (int64_t i = 0; i < std::min(count, kMaxEngines); ++i) {
    auto plan = std::make_unique<CudnnDesc>(cudnn, kCudnnPlan, "preparing an engine");
    if (target.library)
      plan->set(kCudnnPlanHandle, kCudnnHandleType, 1, &target.library);
    plan->set(kCudnnPlanConfig, kCudnnDescriptorType, 1, &found[static_cast<size_t>(i)]);
    if (target.device)
      plan->set(kCudnnPlanDevice, *target.device);
    plan->finalize();
    int64_t one = 0;
    if (plan->status.ok())
      plan->status = cudnn.check(
          cudnn.getAttribute(plan->desc, kCudnnPlanWorkspace, kCudnnInt64Type, 1, &one, &workspace),
          "querying the size of a workspace");
    if (plan->status.ok() && workspace <= maxWorkspace) {
      // The plan refers to its configuration, which is kept with the graph.
      std::move(configs.begin(), configs.end(), std::back_inserter(parts));
      return plan;
    }
    refused = !plan->status.ok() ? plan->status
                                 : absl::ResourceExhaustedError(absl::StrCat(
                                       "cuDNN's engine needs ", workspace,
                                       " bytes of workspace, expected at most ", maxWorkspace));
  }
  return refused;
}

} // namespace st::cuda

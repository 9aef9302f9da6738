#include "backends/cuda/runtime/DriverAttention.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <cfloat>
#include <vector>

namespace st::cuda {

/// What masked scores are: cuDNN's engines take the lowest number for minus infinity.
static constexpr float kLowest = -FLT_MAX;
static constexpr int64_t kWorkspaceAlignment = 256;

absl::StatusOr<std::unique_ptr<CudnnHandle>> CudnnHandle::create(Handle stream) {
  ST_ASSIGN_OR_RETURN(const Cudnn *cudnn, getCudnn());
  auto made = std::unique_ptr<CudnnHandle>(new CudnnHandle(*cudnn));
  ST_RETURN_IF_ERROR(cudnn->check(cudnn->create(&made->library), "starting"));
  ST_RETURN_IF_ERROR(cudnn->check(cudnn->setStream(made->library, stream), "taking a stream"));
  return made;
}

absl::StatusOr<std::unique_ptr<CudnnHandle>> CudnnHandle::describe(const std::string &json) {
  ST_ASSIGN_OR_RETURN(const Cudnn *cudnn, getCudnn());
  auto made = std::unique_ptr<CudnnHandle>(new CudnnHandle(*cudnn));
  made->device = std::make_unique<CudnnDesc>(*cudnn, kCudnnDeviceProperties, "describing a GPU");
  made->device
      ->set(kCudnnDeviceJson, kCudnnCharType, static_cast<int64_t>(json.size()) + 1, json.c_str())
      .finalize();
  ST_RETURN_IF_ERROR(made->device->status);
  return made;
}

CudnnHandle::~CudnnHandle() {
  if (library)
    cudnn.destroy(library);
}

std::string DriverAttention::key(const proto::CudaAttention &attention) {
  proto::CudaAttention kept = attention;
  kept.clear_body();
  for (proto::CudaHeads *heads :
       {kept.mutable_q(), kept.mutable_k(), kept.mutable_v(), kept.mutable_o()})
    heads->clear_place();
  if (kept.has_bias())
    kept.mutable_bias()->clear_place();
  if (kept.has_max())
    kept.mutable_max()->Clear();
  if (kept.has_sum())
    kept.mutable_sum()->Clear();
  return kept.SerializeAsString();
}

/// Scores, what is done to them, their softmax and its product with the values, in the order in
/// which cuDNN's frontend composes attention. The logarithm of each row's sum is always asked for:
/// without it there may be no engine.
void DriverAttention::build(const proto::CudaAttention &attention) {
  const int64_t batch = attention.batch(), heads = attention.heads();
  const int64_t rows = attention.rows(), columns = attention.columns();
  const CudnnData type = attention.type() == proto::F16 ? kCudnnF16 : kCudnnBF16;
  auto add = [&](const proto::CudaHeads &tensor, int64_t rows, int64_t width) {
    return graph.inMemory(type, {batch, heads, rows, width},
                          {tensor.batch(), tensor.head(), tensor.row(), 1});
  };
  auto addStatistic = [&] {
    return graph.inMemory(kCudnnF32, {batch, heads, rows, 1}, {heads * rows, rows, 1, 1});
  };
  q = add(attention.q(), rows, attention.depth());
  // As the right operand of a product it is seen transposed.
  k = graph.inMemory(type, {batch, heads, attention.depth(), columns},
                     {attention.k().batch(), attention.k().head(), 1, attention.k().row()});
  v = add(attention.v(), columns, attention.width());
  o = add(attention.o(), rows, attention.width());
  CudnnGraph::Tensor scores = graph.multiply(q, k, kCudnnF32);
  scaleValue = static_cast<float>(attention.scale());
  if (scaleValue != 1) {
    scale = graph.byValue();
    scores = graph.combine(kCudnnMul, scores, scale);
  }
  if (attention.has_bias()) {
    const proto::CudaHeads &mask = attention.bias();
    const int64_t alongRows = mask.row() ? rows : 1, alongHeads = mask.head() ? heads : 1,
                  alongBatch = mask.batch() ? batch : 1;
    const int64_t row = mask.row() ? mask.row() : columns,
                  head = mask.head() ? mask.head() : row * alongRows;
    bias = graph.inMemory(kCudnnF32, {alongBatch, alongHeads, alongRows, columns},
                          {mask.batch() ? mask.batch() : head * alongHeads, head, row, 1});
    scores = graph.combine(kCudnnAdd, scores, bias);
  }
  if (attention.causal()) {
    const CudnnGraph::Tensor row = graph.indexAlong(2, scores),
                             column = graph.indexAlong(3, scores);
    low = graph.byValue();
    scores = graph.select(graph.combine(kCudnnGreaterEqual, row, column, kCudnnBool), scores, low);
  }
  max = graph.reduce(kCudnnReduceMax, scores, attention.has_max() ? addStatistic() : 0);
  CudnnGraph::Tensor exps = graph.apply(kCudnnExp, graph.combine(kCudnnSub, scores, max));
  sum = graph.reduce(kCudnnReduceAdd, exps, attention.has_sum() ? addStatistic() : 0);
  logSum = addStatistic();
  graph.combine(kCudnnAdd, max, graph.apply(kCudnnLog, sum), kCudnnF32, logSum);
  graph.multiply(graph.combine(kCudnnDiv, exps, sum, type), v, type, o);
}

absl::StatusOr<std::unique_ptr<DriverAttention>>
DriverAttention::create(const CudnnHandle &handle, const proto::CudaAttention &attention,
                        int64_t mostBytes) {
  const int64_t logSumBytes = attention.batch() * attention.heads() * attention.rows() * 4;
  if (logSumBytes > mostBytes)
    return absl::ResourceExhaustedError(absl::StrCat(
        "sums of rows take ", logSumBytes, " bytes of workspace, of at most ", mostBytes));
  auto made = std::unique_ptr<DriverAttention>(new DriverAttention(handle));
  made->build(attention);
  ST_ASSIGN_OR_RETURN(made->plan, made->graph.plan(handle.target(),
                                                   (mostBytes - logSumBytes) / kWorkspaceAlignment *
                                                       kWorkspaceAlignment,
                                                   made->engineBytes));
  return made;
}

absl::Status DriverAttention::run(const AttentionOperands &operands,
                                  DevicePointer workspace) const {
  const int64_t engine =
      (engineBytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  std::vector<int64_t> ids;
  std::vector<const void *> pointers;
  auto add = [&](CudnnGraph::Tensor tensor, const void *pointer) {
    ids.push_back(tensor);
    pointers.push_back(pointer);
  };
  auto at = [](Address address) { return reinterpret_cast<const void *>(address); };
  for (auto [tensor, address] :
       {std::pair(q, operands.q), {k, operands.k}, {v, operands.v}, {o, operands.o}})
    add(tensor, at(address));
  for (auto [tensor, address] :
       {std::pair(bias, operands.bias), {max, operands.max}, {sum, operands.sum}})
    if (address)
      add(tensor, at(address));
  add(logSum, at(workspace + static_cast<Address>(engine)));
  if (scale)
    add(scale, &scaleValue);
  if (low)
    add(low, &kLowest);
  const void *space = at(workspace);
  const auto count = static_cast<int64_t>(ids.size());
  CudnnDesc pack(handle.cudnn, kCudnnVariantPack, "attention");
  pack.set(kCudnnPackIds, ids)
      .set(kCudnnPackPointers, kCudnnPointerType, count, pointers.data())
      .set(kCudnnPackWorkspace, kCudnnPointerType, 1, &space)
      .finalize();
  ST_RETURN_IF_ERROR(pack.status);
  return handle.cudnn.check(handle.cudnn.execute(handle.target().library, plan->desc, pack.desc),
                            "attention");
}

} // namespace st::cuda

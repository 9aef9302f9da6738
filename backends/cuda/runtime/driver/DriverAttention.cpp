#include "backends/cuda/runtime/driver/DriverAttention.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cfloat>
#include <utility>

namespace st::cuda {

/// The value of masked scores: cuDNN's engines use the lowest float as minus infinity.
static constexpr float kLowest = -FLT_MAX;
static constexpr int64_t kWorkspaceAlignment = 256;

absl::StatusOr<std::unique_ptr<CudnnHandle>> CudnnHandle::create(Handle stream) {
  ST_ASSIGN_OR_RETURN(const Cudnn *cudnn, getCudnn());
  auto created = std::unique_ptr<CudnnHandle>(new CudnnHandle(*cudnn));
  ST_RETURN_IF_ERROR(cudnn->check(cudnn->create(&created->library), "starting"));
  ST_RETURN_IF_ERROR(cudnn->check(cudnn->setStream(created->library, stream), "taking a stream"));
  return created;
}

absl::StatusOr<std::unique_ptr<CudnnHandle>> CudnnHandle::describe(const std::string &json) {
  ST_ASSIGN_OR_RETURN(const Cudnn *cudnn, getCudnn());
  auto created = std::unique_ptr<CudnnHandle>(new CudnnHandle(*cudnn));
  created->device = std::make_unique<CudnnDesc>(*cudnn, kCudnnDeviceProperties, "describing a GPU");
  created->device
      ->set(kCudnnDeviceJson, kCudnnCharType, static_cast<int64_t>(json.size()) + 1, json.c_str())
      .finalize();
  ST_RETURN_IF_ERROR(created->device->status);
  return created;
}

CudnnHandle::~CudnnHandle() {
  if (library)
    cudnn.destroy(library);
}

std::string DriverAttention::key(const proto::CudaAttention &attention) {
  proto::CudaAttention kept = attention;
  kept.clear_body();
  for (proto::CudaHeads *heads : {kept.mutable_q(), kept.mutable_k(), kept.mutable_v()})
    heads->clear_place();
  for (auto [isThere, heads] : {std::pair(kept.has_o(), &proto::CudaAttention::mutable_o),
                                {kept.has_bias(), &proto::CudaAttention::mutable_bias},
                                {kept.has_d_o(), &proto::CudaAttention::mutable_d_o},
                                {kept.has_d_q(), &proto::CudaAttention::mutable_d_q},
                                {kept.has_d_k(), &proto::CudaAttention::mutable_d_k},
                                {kept.has_d_v(), &proto::CudaAttention::mutable_d_v}})
    if (isThere)
      (kept.*heads)()->clear_place();
  if (kept.has_max())
    kept.mutable_max()->Clear();
  if (kept.has_sum())
    kept.mutable_sum()->Clear();
  return kept.SerializeAsString();
}

absl::StatusOr<std::unique_ptr<DriverAttention>>
DriverAttention::create(const CudnnHandle &handle, const proto::CudaAttention &attention,
                        int64_t maxBytes) {
  auto created = std::unique_ptr<DriverAttention>(new DriverAttention(handle));
  ST_RETURN_IF_ERROR(created->plan(attention, maxBytes));
  return created;
}

/// Reserves bytes of the workspace.
int64_t DriverAttention::take(int64_t count) {
  const int64_t begin = bytes;
  bytes += (count + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  return begin;
}

absl::Status DriverAttention::plan(const proto::CudaAttention &attention, int64_t maxBytes) {
  const int64_t rows = attention.batch() * attention.heads() * attention.rows();
  scale = static_cast<float>(attention.scale());
  forward = std::make_unique<AttentionGraph>(handle.cudnn, attention);
  forward->buildForward();
  ST_RETURN_IF_ERROR(forward->plan(handle.target(), maxBytes));
  int64_t engineBytes = forward->workspaceBytes();
  if (!attention.has_o()) {
    gradient = std::make_unique<AttentionGraph>(handle.cudnn, attention);
    gradient->buildGradient();
    ST_RETURN_IF_ERROR(gradient->plan(handle.target(), maxBytes));
    engineBytes = std::max(engineBytes, gradient->workspaceBytes());
  }
  take(engineBytes);
  logSum = take(rows * 4);
  if (gradient) {
    o = take(rows * attention.width() * 2);
    rowSum = take(rows * 4);
    dQSumBytes = rows * attention.depth() * 4;
    dQSum = take(dQSumBytes);
  }
  if (bytes > maxBytes)
    return absl::ResourceExhaustedError(
        absl::StrCat("cuDNN needs ", bytes, " bytes of workspace, expected at most ", maxBytes));
  return absl::OkStatus();
}

absl::Status DriverAttention::run(const AttentionOperands &operands, Address workspace,
                                  GpuStream &stream) const {
  static constexpr float kOne = 1;
  AttentionParts parts{};
  auto set = [&](AttentionPart part, Address address) {
    parts[static_cast<size_t>(part)] = reinterpret_cast<const void *>(address);
  };
  auto inWorkspace = [&](int64_t offset) { return workspace + static_cast<Address>(offset); };
  set(AttentionPart::Q, operands.q);
  set(AttentionPart::K, operands.k);
  set(AttentionPart::V, operands.v);
  set(AttentionPart::O, gradient ? inWorkspace(o) : operands.o);
  set(AttentionPart::Bias, operands.bias);
  set(AttentionPart::Max, operands.max);
  set(AttentionPart::Sum, operands.sum);
  set(AttentionPart::LogSum, inWorkspace(logSum));
  set(AttentionPart::DO, operands.dO);
  set(AttentionPart::DQ, operands.dQ);
  set(AttentionPart::DK, operands.dK);
  set(AttentionPart::DV, operands.dV);
  set(AttentionPart::RowSum, inWorkspace(rowSum));
  set(AttentionPart::DQSum, inWorkspace(dQSum));
  parts[static_cast<size_t>(AttentionPart::Scale)] = &scale;
  parts[static_cast<size_t>(AttentionPart::Low)] = &kLowest;
  parts[static_cast<size_t>(AttentionPart::One)] = &kOne;
  const Handle library = handle.target().library;
  const void *space = reinterpret_cast<const void *>(workspace);
  ST_RETURN_IF_ERROR(forward->run(library, parts, space));
  if (!gradient)
    return absl::OkStatus();
  ST_RETURN_IF_ERROR(stream.zero(inWorkspace(dQSum), 0, {dQSumBytes, 1}));
  return gradient->run(library, parts, space);
}

} // namespace st::cuda

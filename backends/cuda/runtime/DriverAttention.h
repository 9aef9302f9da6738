// Attention on a GPU, by cuDNN.
#ifndef ST_BACKENDS_CUDA_RUNTIME_DRIVERATTENTION_H
#define ST_BACKENDS_CUDA_RUNTIME_DRIVERATTENTION_H

#include "backends/cuda/runtime/CudnnGraph.h"
#include "backends/cuda/runtime/GpuDevice.h"

#include <memory>
#include <string>

namespace st::cuda {

/// cuDNN for one stream, or for a GPU that is described and not there, for which it makes plans
/// that nobody runs.
class CudnnHandle {
public:
  static absl::StatusOr<std::unique_ptr<CudnnHandle>> create(Handle stream);
  /// By the JSON that cuDNN has for the properties of a GPU.
  static absl::StatusOr<std::unique_ptr<CudnnHandle>> describe(const std::string &json);
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle &) = delete;
  CudnnHandle &operator=(const CudnnHandle &) = delete;

  CudnnTarget target() const { return {library, device.get()}; }

  const Cudnn &cudnn;

private:
  explicit CudnnHandle(const Cudnn &cudnn) : cudnn(cudnn) {}

  Handle library = nullptr;
  std::unique_ptr<CudnnDesc> device;
};

/// A plan of cuDNN for some attention. cuDNN recognises attention by the operations that it is made
/// of, and keeps no score in memory.
class DriverAttention {
public:
  /// Fails where cuDNN has no engine that makes do with so many bytes. The handle outlives it.
  static absl::StatusOr<std::unique_ptr<DriverAttention>>
  create(const CudnnHandle &handle, const proto::CudaAttention &attention, int64_t mostBytes);

  /// The same for attention that the same plan computes.
  static std::string key(const proto::CudaAttention &attention);

  absl::Status run(const AttentionOperands &operands, DevicePointer workspace) const;

private:
  explicit DriverAttention(const CudnnHandle &handle) : handle(handle), graph(handle.cudnn) {}

  void build(const proto::CudaAttention &attention);

  const CudnnHandle &handle;
  CudnnGraph graph;
  CudnnGraph::Tensor q = 0, k = 0, v = 0, o = 0, bias = 0, max = 0, sum = 0, logSum = 0;
  CudnnGraph::Tensor scale = 0, low = 0; // on the host; 0: there is none
  float scaleValue = 1;
  int64_t engineBytes = 0; // of the workspace, of which log-sums take the rest
  std::unique_ptr<CudnnDesc> plan;
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_DRIVERATTENTION_H

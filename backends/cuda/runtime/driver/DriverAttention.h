// Attention on a GPU, by cuDNN.
#ifndef ST_BACKENDS_CUDA_RUNTIME_DRIVER_DRIVERATTENTION_H
#define ST_BACKENDS_CUDA_RUNTIME_DRIVER_DRIVERATTENTION_H

#include "backends/cuda/runtime/driver/AttentionGraph.h"

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

/// Plans of cuDNN for some attention or its gradient, which makes o and the logarithms of sums
/// again before.
class DriverAttention {
public:
  /// Fails where cuDNN has no engine, or more than so many bytes of workspace are needed. The
  /// handle outlives it.
  static absl::StatusOr<std::unique_ptr<DriverAttention>>
  create(const CudnnHandle &handle, const proto::CudaAttention &attention, int64_t mostBytes);

  /// The same for attention that the same plan computes.
  static std::string key(const proto::CudaAttention &attention);

  int64_t workspaceBytes() const { return bytes; }
  /// `stream` is the handle's.
  absl::Status run(const AttentionOperands &operands, Address workspace, GpuStream &stream) const;

private:
  explicit DriverAttention(const CudnnHandle &handle) : handle(handle) {}

  absl::Status plan(const proto::CudaAttention &attention, int64_t mostBytes);
  int64_t take(int64_t count);

  const CudnnHandle &handle;
  std::unique_ptr<AttentionGraph> forward, gradient; ///< the latter may be null
  float scale = 1;
  int64_t bytes = 0; ///< of the workspace, in which these lie behind what engines take
  int64_t logSum = 0, o = 0, rowSum = 0, dQSum = 0, dQSumBytes = 0;
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_DRIVER_DRIVERATTENTION_H

// Attention on a GPU, by cuDNN.
#ifndef ST_BACKENDS_CUDA_RUNTIME_DRIVER_DRIVERATTENTION_H
#define ST_BACKENDS_CUDA_RUNTIME_DRIVER_DRIVERATTENTION_H

#include "backends/cuda/runtime/driver/AttentionGraph.h"

#include <memory>
#include <string>

namespace st::cuda {

/// A cuDNN handle for one stream, or for a described GPU that is not present, for which plans can
/// be built but not run.
class CudnnHandle {
public:
  static absl::StatusOr<std::unique_ptr<CudnnHandle>> create(Handle stream);
  /// Creates a handle from cuDNN's JSON description of a GPU.
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

/// cuDNN plans for attention or its gradient, which first recomputes o and the logarithms of the
/// sums.
class DriverAttention {
public:
  /// Fails if cuDNN has no engine, or needs more than `maxBytes` bytes of workspace. The handle
  /// must outlive it.
  static absl::StatusOr<std::unique_ptr<DriverAttention>>
  create(const CudnnHandle &handle, const proto::CudaAttention &attention, int64_t maxBytes);

  /// A key that is equal for all attention that one plan can compute.
  static std::string key(const proto::CudaAttention &attention);

  int64_t workspaceBytes() const { return bytes; }
  /// `stream` is the handle's.
  absl::Status run(const AttentionOperands &operands, Address workspace, GpuStream &stream) const;

private:
  explicit DriverAttention(const CudnnHandle &handle) : handle(handle) {}

  absl::Status plan(const proto::CudaAttention &attention, int64_t maxBytes);
  int64_t take(int64_t count);

  const CudnnHandle &handle;
  std::unique_ptr<AttentionGraph> forward, gradient; ///< the gradient may be null
  float scale = 1;
  int64_t bytes = 0; ///< size of the workspace: the engines' part, then these parts
  int64_t logSum = 0, o = 0, rowSum = 0, dQSum = 0, dQSumBytes = 0;
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_DRIVER_DRIVERATTENTION_H

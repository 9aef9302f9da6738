// cuDNN descriptors and operation graphs.
#ifndef ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_CUDNNGRAPH_H
#define ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_CUDNNGRAPH_H

#include "backends/cuda/runtime/libraries/CudnnLibrary.h"

#include "absl/types/span.h"

#include <array>
#include <memory>
#include <vector>

namespace st::cuda {

/// One descriptor. Keeps the first error as its status and makes no calls after it.
class CudnnDesc {
public:
  CudnnDesc(const Cudnn &cudnn, CudnnKind kind, absl::string_view what);
  ~CudnnDesc();
  CudnnDesc(const CudnnDesc &) = delete;
  CudnnDesc &operator=(const CudnnDesc &) = delete;

  CudnnDesc &set(CudnnAttribute attribute, CudnnType type, int64_t count, const void *elements);
  CudnnDesc &set(CudnnAttribute attribute, CudnnType type, int number) {
    return set(attribute, type, 1, &number);
  }
  CudnnDesc &set(CudnnAttribute attribute, absl::Span<const int64_t> numbers) {
    return set(attribute, kCudnnInt64Type, static_cast<int64_t>(numbers.size()), numbers.data());
  }
  CudnnDesc &set(CudnnAttribute attribute, const CudnnDesc &other);
  CudnnDesc &finalize();

  absl::Status status;
  Handle desc = nullptr;

private:
  const Cudnn &cudnn;
  std::string what; ///< for errors
};

/// The GPU of a graph: that of a library handle, or a described GPU that is not present.
struct CudnnTarget {
  Handle library = nullptr;
  const CudnnDesc *device = nullptr;
};

/// Operations on four-dimensional tensors, computed in f32. First add operations; `plan` completes
/// the graph.
class CudnnGraph {
public:
  using Extents = std::array<int64_t, 4>;
  /// A tensor of the graph: its unique id.
  using Tensor = int64_t;

  explicit CudnnGraph(const Cudnn &cudnn) : cudnn(cudnn) {}

  Tensor inMemory(CudnnData type, const Extents &extents, const Extents &strides);
  /// One f32 number on the host.
  Tensor byValue();

  // Intermediate results are virtual, unless `result` names a tensor in memory.
  Tensor multiply(Tensor a, Tensor b, CudnnData type, Tensor result = 0);
  Tensor combine(CudnnPointwiseOp op, Tensor x, Tensor b, CudnnData type = kCudnnF32,
                 Tensor result = 0);
  Tensor apply(CudnnPointwiseOp op, Tensor x, Tensor result = 0);
  /// Exchanges the last two dimensions.
  Tensor transpose(Tensor x, CudnnData type);
  Tensor select(Tensor predicate, Tensor x, Tensor otherwise);
  Tensor indexAlong(int64_t dimension, Tensor like);
  /// Along the last dimension.
  Tensor reduce(int op, Tensor x, Tensor result = 0);

  /// The first engine proposed by cuDNN that needs at most `maxWorkspace` bytes of workspace.
  absl::StatusOr<std::unique_ptr<CudnnDesc>> plan(const CudnnTarget &target, int64_t maxWorkspace,
                                                  int64_t &workspace);

private:
  struct Known {
    Extents extents;
    std::unique_ptr<CudnnDesc> desc;
  };

  const Cudnn &cudnn;
  std::vector<Known> tensors; ///< tensor t is number t - 1
  std::vector<std::unique_ptr<CudnnDesc>> parts, ops;

  enum class Where { InMemory, OnHost, Nowhere };
  Tensor add(CudnnData type, Extents extents, Extents strides, Where where);
  Tensor addResult(CudnnData type, Extents extents, Tensor result);
  const CudnnDesc &desc(Tensor tensor) const { return *tensors[tensor - 1].desc; }
  Extents extents(Tensor tensor) const { return tensors[tensor - 1].extents; }
  CudnnDesc &addPart(CudnnKind kind, absl::string_view what);
  CudnnDesc &addOp(CudnnKind kind, absl::string_view what);
  CudnnDesc &addPointwise(CudnnPointwiseOp op, int precision, Tensor x, Tensor y,
                          int64_t axis = -1);
  absl::Status status() const;
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_LIBRARIES_CUDNNGRAPH_H

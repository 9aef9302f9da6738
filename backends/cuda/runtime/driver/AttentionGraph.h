// Attention as a graph of cuDNN operations.
#ifndef ST_BACKENDS_CUDA_RUNTIME_DRIVER_ATTENTIONGRAPH_H
#define ST_BACKENDS_CUDA_RUNTIME_DRIVER_ATTENTIONGRAPH_H

#include "backends/cuda/runtime/GpuDevice.h"
#include "backends/cuda/runtime/libraries/CudnnGraph.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace st::cuda {

/// The tensors that a graph reads and writes.
enum class AttentionPart {
  Q,
  K,
  V,
  O,
  Bias,
  Max,
  Sum,
  LogSum, ///< of each row: max + log(sum)
  DO,
  DQ,
  DK,
  DV,
  RowSum, ///< of each row: the sum of do * o
  DQSum,  ///< dq in f32, 0 at first
  Scale,  ///< on the host, as are the following
  Low,
  One,
  Count
};
/// The address of each part; null if a graph does not have it.
using AttentionParts = std::array<const void *, static_cast<size_t>(AttentionPart::Count)>;

/// cuDNN recognises attention only if the operations have the order of its own frontend. It then
/// stores no scores.
class AttentionGraph {
public:
  AttentionGraph(const Cudnn &cudnn, const proto::CudaAttention &attention)
      : cudnn(cudnn), graph(cudnn), attention(attention) {}

  // Call one of the build functions first. The forward pass of a gradient has neither maxima nor
  // sums, and its o is dense.
  void buildForward();
  void buildGradient();

  /// Selects the first engine that needs at most `maxWorkspace` bytes of workspace.
  absl::Status plan(const CudnnTarget &target, int64_t maxWorkspace);
  int64_t workspaceBytes() const { return workspace; }

  absl::Status run(Handle library, const AttentionParts &parts, const void *workspace) const;

private:
  using Tensor = CudnnGraph::Tensor;

  const Cudnn &cudnn;
  CudnnGraph graph;
  const proto::CudaAttention &attention; ///< until there is a plan
  std::vector<std::pair<AttentionPart, Tensor>> bound;
  std::unique_ptr<CudnnDesc> planned;
  int64_t workspace = 0;

  Tensor bind(AttentionPart part, Tensor tensor) {
    bound.emplace_back(part, tensor);
    return tensor;
  }
  CudnnData type() const { return attention.type() == proto::F16 ? kCudnnF16 : kCudnnBF16; }
  /// Products of cuDNN repeat each head of k and v for the heads of its group.
  int64_t countHeads(const proto::CudaHeads &heads) const;
  /// Adds contiguous rows, or their transpose.
  Tensor addRows(AttentionPart part, const proto::CudaHeads &heads, int64_t rows, int64_t width);
  Tensor addColumns(AttentionPart part, const proto::CudaHeads &heads, int64_t rows, int64_t width);
  Tensor addStatistic(AttentionPart part);
  Tensor addScores(Tensor q, Tensor scale);
  Tensor addMask(Tensor scores);
  bool isScaled() const { return static_cast<float>(attention.scale()) != 1; }
};

/// o of a forward pass that a gradient recomputes: dense, in the workspace.
proto::CudaHeads denseOutput(const proto::CudaAttention &attention);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_DRIVER_ATTENTIONGRAPH_H

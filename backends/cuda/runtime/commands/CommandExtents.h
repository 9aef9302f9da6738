// The bytes that commands access.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDEXTENTS_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDEXTENTS_H

#include "lib/Proto/cuda.pb.h"

#include "absl/types/span.h"

#include <cstdint>
#include <functional>

namespace st::cuda {

/// Bytes of one element of a float type.
int64_t widthOf(proto::ElementType type);

/// The number of consecutive heads of attention that read one head of a tensor.
int64_t groupOf(const proto::CudaHeads &heads);

/// The number of elements from the first to the last of rows of `width` elements.
int64_t extentOf(const proto::CudaAttention &attention, const proto::CudaHeads &heads, int64_t rows,
                 int64_t width);

/// Visits every place that a launch, copy, product or attention accesses, with its size in bytes,
/// including those of the commands in its body.
using VisitPlace = std::function<void(const proto::CudaPlace &place, int64_t bytes)>;
void visitPlaces(const proto::CudaCommand &command, absl::Span<const proto::CudaKernel> kernels,
                 const VisitPlace &visit);
void visitPlaces(const proto::CudaProduct &product, absl::Span<const proto::CudaKernel> kernels,
                 const VisitPlace &visit);
void visitPlaces(const proto::CudaAttention &attention, absl::Span<const proto::CudaKernel> kernels,
                 const VisitPlace &visit);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDEXTENTS_H

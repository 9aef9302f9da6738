// How many bytes commands touch.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDEXTENTS_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDEXTENTS_H

#include "lib/Proto/cuda.pb.h"

#include "absl/types/span.h"

#include <cstdint>
#include <functional>

namespace st::cuda {

/// Bytes of one element of a float type.
int64_t widthOf(proto::ElementType type);

/// From the first element of rows of `width` elements to behind the last, in elements.
int64_t extentOf(const proto::CudaAttention &attention, const proto::CudaHeads &heads, int64_t rows,
                 int64_t width);

/// Every place that a launch, a copy, a product or attention touches, with its bytes from there,
/// also those of the commands in its body.
using VisitPlace = std::function<void(const proto::CudaPlace &place, int64_t bytes)>;
void visitPlaces(const proto::CudaCommand &command, absl::Span<const proto::CudaKernel> kernels,
                 const VisitPlace &visit);
void visitPlaces(const proto::CudaProduct &product, absl::Span<const proto::CudaKernel> kernels,
                 const VisitPlace &visit);
void visitPlaces(const proto::CudaAttention &attention, absl::Span<const proto::CudaKernel> kernels,
                 const VisitPlace &visit);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDEXTENTS_H

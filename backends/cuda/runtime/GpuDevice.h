// What the client asks of a GPU, or of what stands in its place.
#ifndef ST_BACKENDS_CUDA_RUNTIME_GPUDEVICE_H
#define ST_BACKENDS_CUDA_RUNTIME_GPUDEVICE_H

#include "lib/Proto/cuda.pb.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstdint>
#include <memory>

namespace st::cuda {

/// In the memory of a device. Addresses of all devices of a process are one space.
using Address = uint64_t;

/// Rows of bytes.
struct Extent {
  int64_t rowBytes = 0, rows = 1;
};

struct ProductOperands {
  Address a = 0, b = 0, d = 0;
  Address addend = 0, bias = 0; ///< 0: none
};

/// Work that a device does in the order in which it is given. Nobody waits but in `wait`.
class GpuStream {
public:
  virtual ~GpuStream() = default;

  virtual absl::Status copy(Address to, int64_t toPitch, Address from, int64_t fromPitch,
                            Extent extent) = 0;
  virtual absl::Status zero(Address to, int64_t pitch, Extent extent) = 0;
  virtual absl::Status writeWord(Address to, uint32_t word) = 0;
  /// A kernel of the device's code.
  virtual absl::Status launch(int64_t kernel, absl::Span<const Address> arguments) = 0;
  virtual absl::Status multiply(const proto::CudaProduct &product,
                                const ProductOperands &operands) = 0;

  /// Returns when all work is done, with the first error of it.
  virtual absl::Status wait() = 0;
};

class GpuDevice {
public:
  virtual ~GpuDevice() = default;

  /// Memory of zeros, aligned to 256 bytes; it goes with the device.
  virtual absl::StatusOr<Address> allocate(int64_t bytes) = 0;
  virtual absl::Status write(Address to, absl::Span<const uint8_t> bytes) = 0;
  virtual absl::Status read(Address from, absl::Span<uint8_t> bytes) = 0;

  virtual absl::StatusOr<std::unique_ptr<GpuStream>> createStream() = 0;
};

/// The host: kernels as functions of the shared object among the images.
absl::StatusOr<std::unique_ptr<GpuDevice>> createHostDevice(const proto::CudaCode &code);

/// How many GPUs this machine has. Unavailable without a driver.
absl::StatusOr<int64_t> countGpus();

/// GPU `ordinal` of this machine, through libcuda.so.1, and libcublasLt.so for products. An error
/// names what is missing.
absl::StatusOr<std::unique_ptr<GpuDevice>> createDriverDevice(const proto::CudaCode &code,
                                                              int64_t ordinal);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_GPUDEVICE_H

// The device interface that the client uses: a GPU, or the host that replaces it.
#ifndef ST_BACKENDS_CUDA_RUNTIME_GPUDEVICE_H
#define ST_BACKENDS_CUDA_RUNTIME_GPUDEVICE_H

#include "lib/Proto/cuda.pb.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstdint>
#include <memory>
#include <string>

namespace st::cuda {

/// An address in device memory. All devices of a process share one address space.
using Address = uint64_t;

/// Rows of bytes.
struct Extent {
  int64_t rowBytes = 0, rows = 1;
};

/// A point in the work of a stream.
class GpuMark {
public:
  virtual ~GpuMark() = default;
  virtual absl::StatusOr<bool> isReached() = 0;
};
using Mark = std::shared_ptr<GpuMark>; ///< null: all earlier work is done

struct ProductOperands {
  Address a = 0, b = 0, d = 0;
  Address addend = 0, bias = 0, aux = 0, sums = 0; ///< 0: none
};

struct AttentionOperands {
  Address q = 0, k = 0, v = 0;
  Address o = 0, bias = 0, max = 0, sum = 0; ///< 0: none
  Address dO = 0, dQ = 0, dK = 0, dV = 0;    ///< for a gradient
};

/// Runs a command on scratch memory before the first step, so that a stream can time or compare it.
class GpuTrial {
public:
  virtual ~GpuTrial() = default;
  /// The operands of the command in scratch memory, filled with random numbers. An error if there
  /// is no memory for them.
  virtual absl::StatusOr<ProductOperands> productOperands() = 0;
  virtual absl::StatusOr<AttentionOperands> attentionOperands() = 0;
  virtual bool hasBody() const = 0;
  /// Submits the equivalent commands of the body on these operands to the stream.
  virtual absl::Status runBody() = 0;
};

/// Recorded work of a stream, which is submitted in one call.
class GpuGraph {
public:
  virtual ~GpuGraph() = default;
};

/// A queue of device work that runs in submission order. Only `wait` blocks.
class GpuStream {
public:
  virtual ~GpuStream() = default;

  /// Between beginRecording() and endRecording(), copies, kernels, products and attention are
  /// recorded into a graph instead of run. Products and attention must be prepared.
  virtual bool canRecord() const { return false; }
  virtual absl::Status beginRecording() = 0;
  virtual absl::StatusOr<std::unique_ptr<GpuGraph>> endRecording() = 0;
  virtual absl::Status launch(const GpuGraph &graph) = 0;

  virtual absl::Status copy(Address to, int64_t toPitch, Address from, int64_t fromPitch,
                            Extent extent) = 0;
  virtual absl::Status zero(Address to, int64_t pitch, Extent extent) = 0;
  virtual absl::Status writeWord(Address to, uint32_t word) = 0;
  /// Launches a kernel of the device's image.
  virtual absl::Status launch(int64_t kernel, absl::Span<const Address> arguments) = 0;
  virtual absl::Status multiply(const proto::CudaProduct &product,
                                const ProductOperands &operands) = 0;
  /// Chooses an implementation and allocates its memory, by timing candidates if a trial is given.
  /// Returns false if the commands of the body are faster. Unimplemented if the device has no
  /// implementation of the command.
  virtual absl::StatusOr<bool> prepare(const proto::CudaProduct &product,
                                       const ProductOperands &operands, GpuTrial *trial) = 0;
  /// True if `prepare` succeeded; only then may the product be run.
  virtual bool canMultiply(const proto::CudaProduct &product) const = 0;
  /// Forgets prepared products.
  virtual void forgetProducts() {}

  /// Prepares attention by a library, which then allocates its memory. An error is the reason why
  /// the library is not used, for instance because its results in the trial differ from those of
  /// the body. Only prepared attention may be run.
  virtual absl::Status prepare(const proto::CudaAttention &attention, GpuTrial &trial) = 0;
  virtual bool canAttend(const proto::CudaAttention &attention) const = 0;
  virtual absl::Status attend(const proto::CudaAttention &attention,
                              const AttentionOperands &operands) = 0;

  /// A mark after all work submitted so far.
  virtual absl::StatusOr<Mark> mark() = 0;
  /// A mark for GpuDevice::secondsBetween.
  virtual absl::StatusOr<Mark> markTime() = 0;
  /// Later work of this stream runs after the mark, which may belong to another stream or device.
  virtual absl::Status waitFor(const Mark &mark) = 0;

  virtual absl::StatusOr<bool> isDone() = 0;
  /// Returns when all work is done, with its first error.
  virtual absl::Status wait() = 0;
};

/// Ranks with one GPU each, connected by NCCL. Data moves from GPU to GPU as work of a stream,
/// without a wait of the host. Destroying the group aborts transfers in progress.
class GpuGroup {
public:
  virtual ~GpuGroup() = default;

  struct Piece {
    int64_t member = 0; ///< the peer, by its position in the group
    Address place = 0;
    int64_t bytes = 0;
  };
  /// A send completes when its receiver takes it; all pieces are transferred together. The group
  /// must be ready before the call. The work is in the stream only when the group is ready again,
  /// which may take time. The first message between two members requires calls by both.
  virtual absl::Status transfer(GpuStream &stream, absl::Span<const Piece> sent,
                                absl::Span<const Piece> received) = 0;

  /// Returns true if all members have joined and the last transfer has been submitted; an error
  /// once the group has failed.
  virtual absl::StatusOr<bool> isReady() = 0;
};

class GpuDevice {
public:
  virtual ~GpuDevice() = default;

  /// Zeroed memory, aligned to 256 bytes. It is freed with the device, or by `release` when no
  /// stream uses it.
  virtual absl::StatusOr<Address> allocate(int64_t bytes) = 0;
  virtual void release(Address memory) = 0;
  virtual absl::Status write(Address to, absl::Span<const uint8_t> bytes) = 0;
  virtual absl::Status read(Address from, absl::Span<uint8_t> bytes) = 0;

  virtual absl::StatusOr<std::unique_ptr<GpuStream>> createStream() = 0;

  /// The time between two reached marks of this device's streams.
  virtual absl::StatusOr<double> secondsBetween(const GpuMark &begin, const GpuMark &end) const = 0;

  /// Stores the choices for products for later runs.
  virtual void keepChoices() {}
  /// The choices for products in this run, for devices of the same kind in other processes; empty
  /// if there are none.
  virtual std::string choices() const { return {}; }
  /// Adopts such choices. Returns true if a choice changed.
  virtual bool adoptChoices(const std::string & /*choices*/) { return false; }

  /// A name that is equal for the same device in different processes; empty: NCCL does not know the
  /// device.
  virtual absl::StatusOr<std::string> identity() { return std::string(); }

  struct GroupMember {
    std::string group; ///< from createGroupId, called by one of the members
    int64_t members = 0, number = 0;
  };
  /// Does not wait for the other members; `isReady` of the group reports them.
  virtual absl::StatusOr<std::unique_ptr<GpuGroup>> join(const GroupMember &member) = 0;
};

/// The host device: kernels are functions of the shared object among the images.
absl::StatusOr<std::unique_ptr<GpuDevice>> createHostDevice(const proto::CudaCode &code);

/// Unavailable, with the name of the missing library or function, if NCCL cannot be used.
absl::Status findNccl();

/// An id shared by the members of a group.
absl::StatusOr<std::string> createGroupId();

/// The number of GPUs of this machine. Unavailable without a driver.
absl::StatusOr<int64_t> countGpus();

/// GPU `ordinal` of this machine, through libcuda.so.1, libcublasLt.so for products, and
/// libcudnn.so.9 for attention. An error names a missing library; cuDNN is optional.
absl::StatusOr<std::unique_ptr<GpuDevice>> createDriverDevice(const proto::CudaCode &code,
                                                              int64_t ordinal);

/// Enables direct access between the memories of two devices where possible.
void connectDrivers(GpuDevice &one, GpuDevice &other);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_GPUDEVICE_H

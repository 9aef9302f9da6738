// What the client asks of a GPU, or of what stands in its place.
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

/// In the memory of a device. Addresses of all devices of a process are one space.
using Address = uint64_t;

/// Rows of bytes.
struct Extent {
  int64_t rowBytes = 0, rows = 1;
};

/// A moment in the work of a stream.
class GpuMark {
public:
  virtual ~GpuMark() = default;
  virtual absl::StatusOr<bool> isReached() = 0;
};
using Mark = std::shared_ptr<GpuMark>; ///< null: everything up to it is done

struct ProductOperands {
  Address a = 0, b = 0, d = 0;
  Address addend = 0, bias = 0, aux = 0, sums = 0; ///< 0: none
};

struct AttentionOperands {
  Address q = 0, k = 0, v = 0;
  Address o = 0, bias = 0, max = 0, sum = 0; ///< 0: none
  Address dO = 0, dQ = 0, dK = 0, dV = 0;    ///< of a gradient
};

/// What a stream tries out before the first step: how a command runs in memory beside the
/// program's.
class GpuTrial {
public:
  virtual ~GpuTrial() = default;
  /// The operands of the command there, which hold random numbers. An error where there is no
  /// memory for them.
  virtual absl::StatusOr<ProductOperands> productOperands() = 0;
  virtual absl::StatusOr<AttentionOperands> attentionOperands() = 0;
  virtual bool hasBody() const = 0;
  /// Gives the stream the commands that do the same on these operands.
  virtual absl::Status runBody() = 0;
};

/// Work of a stream that was recorded, to be given again as a whole.
class GpuGraph {
public:
  virtual ~GpuGraph() = default;
};

/// Work that a device does in the order in which it is given. Nobody waits but in `wait`.
class GpuStream {
public:
  virtual ~GpuStream() = default;

  /// Between these, copies, kernels, products and attention are not done but become a graph.
  /// Products and attention have to be prepared.
  virtual bool canRecord() const { return false; }
  virtual absl::Status beginRecording() = 0;
  virtual absl::StatusOr<std::unique_ptr<GpuGraph>> endRecording() = 0;
  virtual absl::Status launch(const GpuGraph &graph) = 0;

  virtual absl::Status copy(Address to, int64_t toPitch, Address from, int64_t fromPitch,
                            Extent extent) = 0;
  virtual absl::Status zero(Address to, int64_t pitch, Extent extent) = 0;
  virtual absl::Status writeWord(Address to, uint32_t word) = 0;
  /// A kernel of the device's code.
  virtual absl::Status launch(int64_t kernel, absl::Span<const Address> arguments) = 0;
  virtual absl::Status multiply(const proto::CudaProduct &product,
                                const ProductOperands &operands) = 0;
  /// Chooses how to, and takes the memory for that, before the first time: by how long it takes in
  /// a trial, if there is one. False where the commands in its body are faster. Unimplemented where
  /// the device has no way to do all of it.
  virtual absl::StatusOr<bool> prepare(const proto::CudaProduct &product,
                                       const ProductOperands &operands, GpuTrial *trial) = 0;
  /// Whether `prepare` said so; only then is it multiplied.
  virtual bool canMultiply(const proto::CudaProduct &product) const = 0;
  /// Products are prepared anew.
  virtual void forgetProducts() {}

  /// Whether a library computes some attention, which then takes its memory; the status says why
  /// not, as where its results in the trial are not those of the commands in its body. What was not
  /// prepared, it does not.
  virtual absl::Status prepare(const proto::CudaAttention &attention, GpuTrial &trial) = 0;
  virtual bool canAttend(const proto::CudaAttention &attention) const = 0;
  virtual absl::Status attend(const proto::CudaAttention &attention,
                              const AttentionOperands &operands) = 0;

  /// Behind what was given so far.
  virtual absl::StatusOr<Mark> mark() = 0;
  /// One whose time GpuDevice::secondsBetween knows.
  virtual absl::StatusOr<Mark> markTime() = 0;
  /// What is given from now on is done after a mark, which may be another stream's and device's.
  virtual absl::Status waitFor(const Mark &mark) = 0;

  virtual absl::StatusOr<bool> isDone() = 0;
  /// Returns when all work is done, with the first error of it.
  virtual absl::Status wait() = 0;
};

/// Ranks that have a GPU each, joined by NCCL: what one has for another goes from GPU to GPU as
/// work of a stream, and the host does not wait for it. With the group goes what is under way.
class GpuGroup {
public:
  virtual ~GpuGroup() = default;

  struct Piece {
    int64_t member = 0; ///< who gets or has it, by place in the group
    Address place = 0;
    int64_t bytes = 0;
  };
  /// What is sent leaves when its receiver takes it; all pieces go together. The group has to be
  /// ready, and may need a while to be so again: only then does the stream have the work. For the
  /// first message between two members that takes both of them.
  virtual absl::Status transfer(GpuStream &stream, absl::Span<const Piece> sent,
                                absl::Span<const Piece> received) = 0;

  /// Whether all members have joined, and what was given last is on its way; the error, once the
  /// group has met one.
  virtual absl::StatusOr<bool> isReady() = 0;
};

class GpuDevice {
public:
  virtual ~GpuDevice() = default;

  /// Memory of zeros, aligned to 256 bytes; it goes with the device, or is given back when no
  /// stream uses it.
  virtual absl::StatusOr<Address> allocate(int64_t bytes) = 0;
  virtual void release(Address memory) = 0;
  virtual absl::Status write(Address to, absl::Span<const uint8_t> bytes) = 0;
  virtual absl::Status read(Address from, absl::Span<uint8_t> bytes) = 0;

  virtual absl::StatusOr<std::unique_ptr<GpuStream>> createStream() = 0;

  /// Between two marks of streams of this device, which are reached.
  virtual absl::StatusOr<double> secondsBetween(const GpuMark &begin, const GpuMark &end) const = 0;

  /// Leaves what was chosen for products to later runs.
  virtual void keepChoices() {}
  /// What was chosen for products in this run, for devices of the same kind in other processes;
  /// empty: nothing.
  virtual std::string choices() const { return {}; }
  /// Chooses the same. True where something else had been chosen.
  virtual bool adoptChoices(const std::string & /*choices*/) { return false; }

  /// The same for two devices of any processes if they are one; empty: NCCL does not know it.
  virtual absl::StatusOr<std::string> identity() { return std::string(); }

  struct GroupMember {
    std::string group; ///< from createGroupId, of one of the members
    int64_t members = 0, number = 0;
  };
  /// Does not wait for the other members, as `isReady` of the group tells.
  virtual absl::StatusOr<std::unique_ptr<GpuGroup>> join(const GroupMember &member) = 0;
};

/// The host: kernels as functions of the shared object among the images.
absl::StatusOr<std::unique_ptr<GpuDevice>> createHostDevice(const proto::CudaCode &code);

/// Unavailable, with what is missing, without NCCL.
absl::Status findNccl();

/// What the members of a group have in common.
absl::StatusOr<std::string> createGroupId();

/// How many GPUs this machine has. Unavailable without a driver.
absl::StatusOr<int64_t> countGpus();

/// GPU `ordinal` of this machine, through libcuda.so.1, libcublasLt.so for products, and
/// libcudnn.so.9 for attention. An error names what is missing, but for the last.
absl::StatusOr<std::unique_ptr<GpuDevice>> createDriverDevice(const proto::CudaCode &code,
                                                              int64_t ordinal);

/// Lets two devices of the driver read each other's memory without a detour, where they can.
void connectDrivers(GpuDevice &one, GpuDevice &other);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_GPUDEVICE_H

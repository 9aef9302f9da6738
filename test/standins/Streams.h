// What the stand-ins of NVIDIA's libraries share: GPUs that are memory and threads of the host.
//
// libcuda.so.1, libcublasLt.so, libcudnn.so.9 and libnccl.so.2 of this folder take the place of
// NVIDIA's where tests put them first on the library path: what the runtime asks of these
// libraries, in which order and from which thread, is tried so on machines without a GPU. They
// follow NVIDIA's documentation where a wrong call would go unnoticed on the host: work of a stream
// is done later, by another thread and after random pauses, and that of the legacy stream always
// late; addresses have to lie in memory that was taken, on the GPU that a kernel runs on or one
// that it may reach, and as aligned as the kernel takes them to be; areas of a copy do not overlap;
// a stream or a kernel of another GPU than the thread has entered is refused; what a stream being
// captured does not allow ends the capture. A kernel that fails is told to whoever calls later, and
// the GPU is lost. Kernels are those that `cuda-host` binaries have: nothing here says that a GPU's
// code is right, nor that NVIDIA's libraries are.
//
//   ST_STANDIN_GPUS     how many GPUs there are (1)
//   ST_STANDIN_KERNELS  a file with a line for each kernel: name, blocks, threads, bytes of shared
//                       memory that a launch asks for, and for each argument BYTES:ALIGNMENT
//   ST_STANDIN_SEED     of the pauses; 0: none
//   ST_STANDIN_KERNEL_US  microseconds that a kernel takes longer
//
// Faults.h has what else tests ask of the driver.
#ifndef ST_TEST_STANDINS_STREAMS_H
#define ST_TEST_STANDINS_STREAMS_H

#include <cstddef>
#include <cstdint>
#include <functional>

namespace standin {

/// Does some work; other than 0 is the error that its stream has from then on.
using Work = std::function<int()>;

/// Gives work to a stream, or to the graph that is made of it. The number of an error of the
/// driver.
int enqueue(void *stream, Work work);

/// Whether the stream's work becomes a graph instead of being done.
bool isCapturing(void *stream);

/// Whether all of some memory was taken on some GPU and not given back.
bool isTaken(uint64_t address, size_t bytes);

/// The GPU that the calling thread has entered, or -1; and to enter one.
int currentGpu();
void enter(int gpu);

} // namespace standin

#endif // ST_TEST_STANDINS_STREAMS_H

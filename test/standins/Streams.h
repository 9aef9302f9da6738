// Common parts of the replacements of NVIDIA's libraries: GPUs are memory and threads of the host.
//
// libcuda.so.1, libcublasLt.so, libcudnn.so.9 and libnccl.so.2 of this folder replace NVIDIA's when
// tests put them first on the library path. They test the runtime's calls, their order and their
// threads on machines without a GPU. They follow NVIDIA's documentation where a wrong call would go
// unnoticed on the host. Work of a stream is done later, by another thread and after random pauses,
// and that of the legacy stream is always late. Addresses must be in allocated memory, on a GPU
// that the kernel can access, and as aligned as the kernel requires. Areas of a copy must not
// overlap. A stream or a kernel of another GPU than the thread's current one is rejected. A call
// that a capture does not allow ends the capture. Later calls report a failed kernel, and the GPU
// is lost. Kernels are those of `cuda-host` binaries: this tests neither a GPU's code nor NVIDIA's
// libraries.
//
//   ST_STANDIN_GPUS     number of GPUs (1)
//   ST_STANDIN_KERNELS  a file with a line for each kernel: name, blocks, threads, bytes of shared
//                       memory that a launch asks for, and for each argument BYTES:ALIGNMENT
//   ST_STANDIN_SEED     of the pauses; 0: none
//   ST_STANDIN_KERNEL_US  microseconds that a kernel takes longer
//
// Faults.h describes the other requests of tests to the driver.
#ifndef ST_TEST_STANDINS_STREAMS_H
#define ST_TEST_STANDINS_STREAMS_H

#include <cstddef>
#include <cstdint>
#include <functional>

namespace standin {

/// Does some work; a result other than 0 is the stream's error from then on.
using Work = std::function<int()>;

/// Adds work to a stream, or to the graph that it captures. Returns an error number of the driver.
int enqueue(void *stream, Work work);

/// Returns true if the stream captures its work in a graph.
bool isCapturing(void *stream);

/// Returns true if all of the memory is allocated on some GPU.
bool isAllocated(uint64_t address, size_t bytes);

/// Gets and sets the current GPU of the calling thread; -1: none.
int currentGpu();
void enter(int gpu);

} // namespace standin

#endif // ST_TEST_STANDINS_STREAMS_H

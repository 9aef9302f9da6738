// Kernels in the form of cuda-host binaries, which the driver's stand-in runs in tests.
#include <cstdint>

namespace {
struct Buffer {
  uint8_t *allocated, *aligned;
  int64_t offset, size, stride;
};
} // namespace

extern "C" void _mlir_ciface_launch_increase(Buffer *memory, Buffer *offsets) {
  const int64_t offset = *reinterpret_cast<const int64_t *>(offsets->aligned);
  ++*reinterpret_cast<uint32_t *>(memory->aligned + offset);
}

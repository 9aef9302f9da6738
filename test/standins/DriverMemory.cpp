// Memory of the driver's stand-in, and copies.
#include "test/standins/Driver.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

using namespace st::cuda;

namespace standin {

Memory gpuMemory, hostMemory;

void *Memory::allocate(size_t bytes) {
  void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  allocations[reinterpret_cast<uint64_t>(memory)] = {bytes, currentGpu()};
  return memory;
}

int Memory::release(uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = allocations.find(address);
  if (it == allocations.end())
    return kInvalidValue;
  ::munmap(reinterpret_cast<void *>(address), it->second.bytes);
  allocations.erase(it);
  return kSuccess;
}

int Memory::owner(uint64_t address, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = allocations.upper_bound(address);
  if (it == allocations.begin())
    return kNobody;
  --it;
  const size_t before = address - it->first;
  const bool isWithin = before <= it->second.bytes && bytes <= it->second.bytes - before;
  return isWithin ? it->second.gpu : kNobody;
}

bool isAllocated(uint64_t address, size_t bytes) { return gpuMemory.has(address, bytes); }

int checkPlaces(std::initializer_list<std::pair<uint64_t, size_t>> places) {
  if (int error = state())
    return error;
  for (auto [address, bytes] : places)
    if (!gpuMemory.has(address, bytes))
      return kInvalidValue;
  return kSuccess;
}

/// Returns true if source and destination rows overlap, which no copy allows.
static bool overlaps(const Copy2D &copy) {
  for (size_t from = 0, to = 0; from < copy.height && to < copy.height;) {
    const uint64_t read = copy.source + from * copy.sourcePitch;
    const uint64_t written = copy.target + to * copy.targetPitch;
    if (read < written + copy.width && written < read + copy.width)
      return true;
    ++(read < written ? from : to);
  }
  return false;
}

} // namespace standin

using namespace standin;

extern "C" {

int cuMemAlloc_v2(unsigned long long *memory, size_t bytes) {
  ST_STANDIN_CALL();
  if (int error = state())
    return error;
  if (int error = forbidWhileCapturing())
    return error;
  if (bytes == 0)
    return kInvalidValue;
  *memory = reinterpret_cast<unsigned long long>(gpuMemory.allocate(bytes));
  return *memory ? kSuccess : kOutOfMemory;
}

int cuMemFree_v2(unsigned long long memory) {
  ST_STANDIN_CALL();
  if (int error = state())
    return error;
  const int error = forbidWhileCapturing();
  return error ? error : gpuMemory.release(memory);
}

int cuMemAllocHost_v2(void **memory, size_t bytes) {
  ST_STANDIN_CALL();
  if (int error = state())
    return error;
  if (int error = forbidWhileCapturing())
    return error;
  *memory = hostMemory.allocate(bytes);
  return *memory ? kSuccess : kOutOfMemory;
}

int cuMemFreeHost(void *memory) {
  ST_STANDIN_CALL();
  const int error = forbidWhileCapturing();
  return error ? error : hostMemory.release(reinterpret_cast<uint64_t>(memory));
}

int cuMemsetD8Async(unsigned long long memory, unsigned char value, size_t bytes, void *stream) {
  ST_STANDIN_CALL();
  if (int error = checkPlaces({{memory, bytes}}))
    return error;
  return enqueue(stream, [=] {
    std::memset(reinterpret_cast<void *>(memory), value, bytes);
    return kSuccess;
  });
}

// Work of the legacy stream, whose completion is not reported.
int cuMemsetD8_v2(unsigned long long memory, unsigned char value, size_t bytes) {
  return cuMemsetD8Async(memory, value, bytes, nullptr);
}

int cuMemsetD2D8Async(unsigned long long memory, size_t pitch, unsigned char value, size_t width,
                      size_t height, void *stream) {
  ST_STANDIN_CALL();
  if (height == 0 || width == 0)
    return state();
  if (height > 1 && pitch < width)
    return kInvalidValue;
  if (int error = checkPlaces({{memory, (height - 1) * pitch + width}}))
    return error;
  return enqueue(stream, [=] {
    for (size_t row = 0; row < height; ++row)
      std::memset(reinterpret_cast<uint8_t *>(memory) + row * pitch, value, width);
    return kSuccess;
  });
}

int cuMemsetD32Async(unsigned long long memory, unsigned value, size_t words, void *stream) {
  ST_STANDIN_CALL();
  if (memory % 4 != 0)
    return kInvalidValue;
  if (int error = checkPlaces({{memory, 4 * words}}))
    return error;
  return enqueue(stream, [=] {
    std::fill_n(reinterpret_cast<unsigned *>(memory), words, value);
    return kSuccess;
  });
}

// The driver may copy unpinned host memory at once; callers must not rely on it.
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream) {
  ST_STANDIN_CALL();
  if (!hostMemory.has(reinterpret_cast<uint64_t>(from), bytes))
    return kInvalidValue;
  if (int error = checkPlaces({{to, bytes}}))
    return error;
  return enqueue(stream, [=] {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return kSuccess;
  });
}

int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream) {
  ST_STANDIN_CALL();
  if (!hostMemory.has(reinterpret_cast<uint64_t>(to), bytes))
    return kInvalidValue;
  if (int error = checkPlaces({{from, bytes}}))
    return error;
  return enqueue(stream, [=] {
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return kSuccess;
  });
}

// Copies between overlapping areas are undefined.
int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t bytes, void *stream) {
  ST_STANDIN_CALL();
  if (int error = checkPlaces({{to, bytes}, {from, bytes}}))
    return error;
  if (from < to + bytes && to < from + bytes)
    return kInvalidValue;
  return enqueue(stream, [=] {
    std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
    return kSuccess;
  });
}

int cuMemcpy2DAsync_v2(const Copy2D *given, void *stream) {
  ST_STANDIN_CALL();
  const Copy2D copy = *given;
  if (copy.sourceType != kMemoryUnified || copy.targetType != kMemoryUnified || copy.sourceX != 0 ||
      copy.targetX != 0 || copy.sourceY != 0 || copy.targetY != 0 || copy.height == 0 ||
      copy.sourcePitch < copy.width || copy.targetPitch < copy.width ||
      copy.sourcePitch > kPitchLimit || copy.targetPitch > kPitchLimit)
    return kInvalidValue;
  if (int error = checkPlaces({{copy.source, (copy.height - 1) * copy.sourcePitch + copy.width},
                               {copy.target, (copy.height - 1) * copy.targetPitch + copy.width}}))
    return error;
  if (overlaps(copy))
    return kInvalidValue;
  return enqueue(stream, [=] {
    for (size_t row = 0; row < copy.height; ++row)
      std::memcpy(reinterpret_cast<uint8_t *>(copy.target) + row * copy.targetPitch,
                  reinterpret_cast<const uint8_t *>(copy.source) + row * copy.sourcePitch,
                  copy.width);
    return kSuccess;
  });
}

} // extern "C"

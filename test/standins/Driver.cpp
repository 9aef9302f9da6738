// Replacement of libcuda.so.1: see Streams.h. Devices and contexts.
#include "test/standins/Driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace st::cuda;

namespace standin {

static std::atomic<bool> isStarted{false};
static thread_local int current = -1;

long setting(const char *name, long otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

static long numGpus() { return setting("ST_STANDIN_GPUS", 1); }

Gpu &gpuOf(int number) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<Gpu>> known;
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Gpu> &gpu = known[number];
  if (!gpu)
    gpu = std::make_unique<Gpu>();
  return *gpu;
}

int state() {
  if (!isStarted)
    return kNotInitialized;
  return current < 0 ? int(kInvalidContext) : gpuOf(current).failure.load();
}

int currentGpu() { return current; }

void enter(int gpu) { current = gpu; }

} // namespace standin

using namespace standin;

extern "C" {

int cuInit(unsigned) {
  ST_STANDIN_CALL();
  isStarted = true;
  return kSuccess;
}

int cuGetErrorString(int error, const char **text) {
  *text = error == kIllegalAddress         ? "an illegal memory access was encountered"
          : error == kMisalignedAddress    ? "misaligned address"
          : error == kLaunchOutOfResources ? "too many resources requested for launch"
          : error == kOutOfMemory          ? "out of memory"
          : error == kInvalidImage         ? "device kernel image is invalid"
          : error == kInvalidContext       ? "invalid device context"
          : error == kInvalidHandle        ? "invalid resource handle"
          : error == kNotReady             ? "device not ready"
          : error == kCaptureInvalidated ? "operation failed due to a previous error during capture"
          : error >= kCaptureUnsupported ? "operation not permitted when stream is capturing"
                                         : "invalid argument";
  return kSuccess;
}

int cuDeviceGetCount(int *count) {
  ST_STANDIN_CALL();
  *count = static_cast<int>(numGpus());
  return isStarted ? kSuccess : kNotInitialized;
}

int cuDeviceGet(int *device, int ordinal) {
  ST_STANDIN_CALL();
  *device = ordinal;
  return ordinal >= 0 && ordinal < numGpus() ? kSuccess : kInvalidDevice;
}

int cuDeviceGetAttribute(int *value, int attribute, int) {
  ST_STANDIN_CALL();
  const int planned = findFailure("capability"), capability = planned ? planned : 90;
  const std::map<int, int> known = {{kMaxPitch, kPitchLimit},
                                    {kCapabilityMajor, capability / 10},
                                    {kCapabilityMinor, capability % 10}};
  const auto it = known.find(attribute);
  *value = it == known.end() ? 0 : it->second;
  return it == known.end() ? kInvalidValue : kSuccess;
}

int cuDriverGetVersion(int *version) {
  ST_STANDIN_CALL();
  *version = 13000;
  return kSuccess;
}

int cuDeviceTotalMem_v2(size_t *bytes, int) {
  ST_STANDIN_CALL();
  *bytes = size_t{80} << 30;
  return kSuccess;
}

int cuDeviceGetName(char *name, int length, int device) {
  ST_STANDIN_CALL();
  std::snprintf(name, static_cast<size_t>(length), "stand-in %d", device);
  return kSuccess;
}

// All processes of one machine see the same GPUs, as with a launcher.
int cuDeviceGetUuid_v2(char *uuid, int device) {
  ST_STANDIN_CALL();
  std::memset(uuid, 0, 16);
  uuid[0] = 's';
  uuid[15] = static_cast<char>(device + 1);
  return kSuccess;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  ST_STANDIN_CALL();
  *context = reinterpret_cast<void *>(static_cast<intptr_t>(device) + 1);
  return kSuccess;
}

int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }

int cuCtxSetCurrent(void *context) {
  ST_STANDIN_CALL();
  current = static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1;
  return kSuccess;
}

int cuDeviceCanAccessPeer(int *can, int, int) {
  ST_STANDIN_CALL();
  *can = 1;
  return kSuccess;
}

int cuCtxEnablePeerAccess(void *context, unsigned flags) {
  ST_STANDIN_CALL();
  const int peer = static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1;
  if (int error = state())
    return error;
  if (flags != 0 || peer < 0)
    return kInvalidValue;
  Gpu &gpu = gpuOf(current);
  std::lock_guard<std::mutex> lock(gpu.mutex);
  return gpu.peers.insert(peer).second ? kSuccess : kPeerAlreadyEnabled;
}

} // extern "C"

// Stands in for libcuda.so.1: see Streams.h.
#include "backends/cuda/runtime/DriverLibraries.h"
#include "test/standins/Streams.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace st::cuda;

namespace standin {
namespace {

// As cuda.h numbers them.
enum Error {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kPeerAlreadyEnabled = 704,
  kInvalidHandle = 400,
  kNotFound = 500,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
};

long setting(const char *name, long otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

/// Memory that was taken, by its begin.
class Memory {
public:
  void *take(size_t bytes) {
    void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return nullptr;
    std::lock_guard<std::mutex> lock(mutex);
    taken[reinterpret_cast<uint64_t>(memory)] = bytes;
    return memory;
  }

  int giveBack(uint64_t address) {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = taken.find(address);
    if (it == taken.end())
      return kInvalidValue;
    ::munmap(reinterpret_cast<void *>(address), it->second);
    taken.erase(it);
    return kSuccess;
  }

  bool has(uint64_t address, size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = taken.upper_bound(address);
    return it != taken.begin() &&
           (--it, address - it->first <= it->second && bytes <= it->second - (address - it->first));
  }

private:
  std::mutex mutex;
  std::map<uint64_t, size_t> taken;
};

Memory gpuMemory, hostMemory;
std::atomic<bool> isStarted{false};
thread_local int current = -1;

struct Graph {
  std::vector<Work> works;
};

class Stream {
public:
  Stream()
      : gpu(current),
        random(static_cast<unsigned>(setting("ST_STANDIN_SEED", 1)) * 7919u + ++made) {
    worker = std::thread([this] { run(); });
  }

  ~Stream() {
    give(Work());
    worker.join();
  }

  int enqueue(Work work) {
    if (capture)
      capture->works.push_back(std::move(work));
    else
      give(std::move(work));
    return kSuccess;
  }

  int wait() {
    if (capture)
      return kCaptureUnsupported;
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return works.empty() && !isBusy; });
    return failure;
  }

  int query() {
    if (capture)
      return kCaptureUnsupported;
    std::lock_guard<std::mutex> lock(mutex);
    return failure != kSuccess ? int(failure) : works.empty() && !isBusy ? kSuccess : kNotReady;
  }

  const int gpu;
  std::unique_ptr<Graph> capture;

private:
  void give(Work work) {
    std::lock_guard<std::mutex> lock(mutex);
    works.push_back(std::move(work));
    changed.notify_all();
  }

  // An empty work is the last one.
  void run() {
    const bool pauses = setting("ST_STANDIN_SEED", 1) != 0;
    while (true) {
      Work work;
      {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return !works.empty(); });
        work = std::move(works.front());
        works.pop_front();
        isBusy = true;
      }
      if (!work)
        return;
      if (pauses && random() % 64 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      const int result = failure == kSuccess ? work() : kSuccess;
      std::lock_guard<std::mutex> lock(mutex);
      if (failure == kSuccess)
        failure = result;
      isBusy = false;
      changed.notify_all();
    }
  }

  static std::atomic<unsigned> made;
  std::minstd_rand random;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Work> works;
  bool isBusy = false;
  std::atomic<int> failure{kSuccess};
  std::thread worker;
};
std::atomic<unsigned> Stream::made{0};

/// What was in a stream when an event was recorded; who waits for the event waits for that.
struct Moment {
  std::mutex mutex;
  std::condition_variable changed;
  bool isReached = false;
  std::chrono::steady_clock::time_point time;
};

struct Event {
  bool isTimed;
  int gpu = current;
  std::shared_ptr<Moment> last; ///< none: it was never recorded
};

struct Kernel {
  using Entry = void (*)(void *memory, void *offsets);
  Entry entry = nullptr;
  size_t arguments = 0;
  unsigned blocks = 0, threads = 0;
};

struct Module {
  void *library = nullptr;
  std::map<std::string, Kernel> kernels;
};

/// A shared object in memory is as long as its table of sections says, which is what comes last.
size_t sizeOf(const void *image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return 0;
  return header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
}

/// Fails as a driver does that is not set up, or a thread that has entered no GPU.
int state() { return !isStarted ? kNotInitialized : current < 0 ? kInvalidContext : kSuccess; }

int checkPlaces(std::initializer_list<std::pair<uint64_t, size_t>> places) {
  if (int error = state())
    return error;
  for (auto [address, bytes] : places)
    if (!gpuMemory.has(address, bytes))
      return kIllegalAddress;
  return kSuccess;
}

} // namespace

int enqueue(void *stream, Work work) {
  if (int error = state())
    return error;
  return stream ? static_cast<Stream *>(stream)->enqueue(std::move(work)) : int(kInvalidValue);
}

bool isCapturing(void *stream) { return static_cast<Stream *>(stream)->capture != nullptr; }

bool isTaken(uint64_t address, size_t bytes) { return gpuMemory.has(address, bytes); }

int currentGpu() { return current; }

void enter(int gpu) { current = gpu; }

} // namespace standin

using namespace standin;

extern "C" {

int cuInit(unsigned) {
  isStarted = true;
  return kSuccess;
}

int cuGetErrorString(int error, const char **text) {
  *text = error == kIllegalAddress       ? "an illegal memory access was encountered"
          : error == kOutOfMemory        ? "out of memory"
          : error == kInvalidImage       ? "device kernel image is invalid"
          : error == kInvalidContext     ? "invalid device context"
          : error == kNotReady           ? "device not ready"
          : error >= kCaptureUnsupported ? "operation not permitted when stream is capturing"
                                         : "invalid argument";
  return kSuccess;
}

int cuDeviceGetCount(int *count) {
  *count = static_cast<int>(setting("ST_STANDIN_GPUS", 1));
  return isStarted ? kSuccess : kNotInitialized;
}

int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < setting("ST_STANDIN_GPUS", 1) ? kSuccess : kInvalidDevice;
}

int cuDeviceGetAttribute(int *value, int attribute, int) {
  *value = attribute == kCapabilityMajor ? 9 : 0;
  return attribute == kCapabilityMajor || attribute == kCapabilityMinor ? kSuccess : kInvalidValue;
}

int cuDeviceGetName(char *name, int length, int device) {
  std::snprintf(name, static_cast<size_t>(length), "stand-in %d", device);
  return kSuccess;
}

// Processes of one machine see the same GPUs, as those do that a launcher starts.
int cuDeviceGetUuid_v2(char *uuid, int device) {
  std::memset(uuid, 0, 16);
  uuid[0] = 's';
  uuid[15] = static_cast<char>(device + 1);
  return kSuccess;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = reinterpret_cast<void *>(static_cast<intptr_t>(device) + 1);
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
int cuCtxSetCurrent(void *context) {
  current = static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1;
  return kSuccess;
}
int cuDeviceCanAccessPeer(int *can, int, int) {
  *can = 1;
  return kSuccess;
}
int cuCtxEnablePeerAccess(void *, unsigned) { return kSuccess; }

// ---- memory -------------------------------------------------------------------------------------

int cuMemAlloc_v2(unsigned long long *memory, size_t bytes) {
  if (int error = state())
    return error;
  if (bytes == 0)
    return kInvalidValue;
  *memory = reinterpret_cast<unsigned long long>(gpuMemory.take(bytes));
  return *memory ? kSuccess : kOutOfMemory;
}
int cuMemFree_v2(unsigned long long memory) {
  const int error = state();
  return error ? error : gpuMemory.giveBack(memory);
}
int cuMemAllocHost_v2(void **memory, size_t bytes) {
  if (int error = state())
    return error;
  *memory = hostMemory.take(bytes);
  return *memory ? kSuccess : kOutOfMemory;
}
int cuMemFreeHost(void *memory) { return hostMemory.giveBack(reinterpret_cast<uint64_t>(memory)); }

int cuMemsetD8_v2(unsigned long long memory, unsigned char value, size_t bytes) {
  if (int error = checkPlaces({{memory, bytes}}))
    return error;
  std::memset(reinterpret_cast<void *>(memory), value, bytes);
  return kSuccess;
}

int cuMemsetD2D8Async(unsigned long long memory, size_t pitch, unsigned char value, size_t width,
                      size_t height, void *stream) {
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
  if (memory % 4 != 0)
    return kInvalidValue;
  if (int error = checkPlaces({{memory, 4 * words}}))
    return error;
  return enqueue(stream, [=] {
    std::fill_n(reinterpret_cast<unsigned *>(memory), words, value);
    return kSuccess;
  });
}

// From memory of the host that is not pinned the driver would copy at once; nobody may rely on it.
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream) {
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
  if (!hostMemory.has(reinterpret_cast<uint64_t>(to), bytes))
    return kInvalidValue;
  if (int error = checkPlaces({{from, bytes}}))
    return error;
  return enqueue(stream, [=] {
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return kSuccess;
  });
}

int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t bytes, void *stream) {
  if (int error = checkPlaces({{to, bytes}, {from, bytes}}))
    return error;
  return enqueue(stream, [=] {
    std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
    return kSuccess;
  });
}

int cuMemcpy2DAsync_v2(const Copy2D *given, void *stream) {
  const Copy2D copy = *given;
  if (copy.sourceType != kMemoryUnified || copy.targetType != kMemoryUnified || copy.sourceX != 0 ||
      copy.targetX != 0 || copy.sourceY != 0 || copy.targetY != 0 || copy.height == 0 ||
      copy.sourcePitch < copy.width || copy.targetPitch < copy.width)
    return kInvalidValue;
  if (int error = checkPlaces({{copy.source, (copy.height - 1) * copy.sourcePitch + copy.width},
                               {copy.target, (copy.height - 1) * copy.targetPitch + copy.width}}))
    return error;
  return enqueue(stream, [=] {
    for (size_t row = 0; row < copy.height; ++row)
      std::memmove(reinterpret_cast<uint8_t *>(copy.target) + row * copy.targetPitch,
                   reinterpret_cast<const uint8_t *>(copy.source) + row * copy.sourcePitch,
                   copy.width);
    return kSuccess;
  });
}

// ---- kernels ------------------------------------------------------------------------------------

int cuModuleLoadDataEx(void **loaded, const void *image, unsigned, int *, void **) {
  if (int error = state())
    return error;
  const char *table = std::getenv("ST_STANDIN_KERNELS");
  const size_t bytes = sizeOf(image);
  const int file = ::memfd_create("kernels", MFD_CLOEXEC);
  if (!table || bytes == 0 || ::write(file, image, bytes) != static_cast<ssize_t>(bytes))
    return kInvalidImage;
  auto module = std::make_unique<Module>();
  module->library =
      ::dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  ::close(file);
  if (!module->library)
    return kInvalidImage;
  std::ifstream lines(table);
  std::string name;
  Kernel kernel;
  while (lines >> name >> kernel.arguments >> kernel.blocks >> kernel.threads) {
    kernel.entry = reinterpret_cast<Kernel::Entry>(
        ::dlsym(module->library, ("_mlir_ciface_launch_" + name).c_str()));
    module->kernels[name] = kernel;
  }
  *loaded = module.release();
  return kSuccess;
}

int cuModuleUnload(void *module) {
  auto *loaded = static_cast<Module *>(module);
  ::dlclose(loaded->library);
  delete loaded;
  return kSuccess;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  auto &kernels = static_cast<Module *>(module)->kernels;
  auto it = kernels.find(name);
  if (it == kernels.end() || !it->second.entry)
    return kNotFound;
  *function = &it->second;
  return kSuccess;
}

int cuLaunchKernel(void *function, unsigned blocksX, unsigned blocksY, unsigned blocksZ,
                   unsigned threadsX, unsigned threadsY, unsigned threadsZ, unsigned sharedBytes,
                   void *stream, void **arguments, void **extra) {
  const auto &kernel = *static_cast<const Kernel *>(function);
  if (blocksX != kernel.blocks || threadsX != kernel.threads || blocksY * blocksZ != 1 ||
      threadsY * threadsZ != 1 || sharedBytes != 0 || extra)
    return kLaunchOutOfResources;
  // Arguments are read now, as the driver does.
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < kernel.arguments; ++i) {
    addresses.push_back(*static_cast<const uint64_t *>(arguments[i]));
    if (!gpuMemory.has(addresses.back(), 1))
      return kIllegalAddress;
  }
  return enqueue(stream, [entry = kernel.entry, addresses] {
    struct Buffer {
      void *allocated, *aligned;
      int64_t offset, size, stride;
    };
    const uint64_t base =
        addresses.empty() ? 0 : *std::min_element(addresses.begin(), addresses.end());
    std::vector<int64_t> offsets;
    for (uint64_t address : addresses)
      offsets.push_back(static_cast<int64_t>(address - base));
    auto *first = reinterpret_cast<void *>(base);
    Buffer memory{first, first, 0, INT64_MAX, 1};
    Buffer places{offsets.data(), offsets.data(), 0, static_cast<int64_t>(offsets.size()), 1};
    entry(&memory, &places);
    return kSuccess;
  });
}

// ---- streams, events and graphs -----------------------------------------------------------------

int cuStreamCreate(void **stream, unsigned) {
  if (int error = state())
    return error;
  *stream = new Stream;
  return kSuccess;
}
int cuStreamDestroy_v2(void *stream) {
  delete static_cast<Stream *>(stream);
  return kSuccess;
}
int cuStreamSynchronize(void *stream) {
  const int error = state();
  return error ? error : static_cast<Stream *>(stream)->wait();
}
int cuStreamQuery(void *stream) {
  const int error = state();
  return error ? error : static_cast<Stream *>(stream)->query();
}

int cuEventCreate(void **event, unsigned flags) {
  if (int error = state())
    return error;
  *event = new Event{(flags & kEventDisableTiming) == 0};
  return kSuccess;
}
int cuEventDestroy_v2(void *event) {
  delete static_cast<Event *>(event);
  return kSuccess;
}
int cuEventRecord(void *event, void *stream) {
  auto *recorded = static_cast<Event *>(event);
  if (isCapturing(stream))
    return kCaptureUnsupported;
  if (recorded->gpu != static_cast<Stream *>(stream)->gpu)
    return kInvalidHandle;
  recorded->last = std::make_shared<Moment>();
  return enqueue(stream, [moment = recorded->last] {
    std::lock_guard<std::mutex> lock(moment->mutex);
    moment->isReached = true;
    moment->time = std::chrono::steady_clock::now();
    moment->changed.notify_all();
    return kSuccess;
  });
}
int cuEventQuery(void *event) {
  const std::shared_ptr<Moment> moment = static_cast<Event *>(event)->last;
  if (!moment)
    return kSuccess;
  std::lock_guard<std::mutex> lock(moment->mutex);
  return moment->isReached ? int(kSuccess) : kNotReady;
}
int cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  const auto &first = *static_cast<Event *>(begin), &second = *static_cast<Event *>(end);
  if (!first.isTimed || !second.isTimed || !first.last || !second.last || first.gpu != second.gpu)
    return kInvalidHandle;
  if (cuEventQuery(begin) != kSuccess || cuEventQuery(end) != kSuccess)
    return kNotReady;
  *milliseconds =
      std::chrono::duration<float, std::milli>(second.last->time - first.last->time).count();
  return kSuccess;
}
int cuEventSynchronize(void *event) {
  while (int result = cuEventQuery(event)) {
    if (result != kNotReady)
      return result;
    std::this_thread::yield();
  }
  return kSuccess;
}
int cuStreamWaitEvent(void *stream, void *event, unsigned) {
  if (isCapturing(stream))
    return kCaptureUnsupported;
  return enqueue(stream, [moment = static_cast<Event *>(event)->last] {
    if (!moment)
      return kSuccess;
    std::unique_lock<std::mutex> lock(moment->mutex);
    moment->changed.wait(lock, [&] { return moment->isReached; });
    return kSuccess;
  });
}

int cuStreamBeginCapture_v2(void *stream, int) {
  auto *captured = static_cast<Stream *>(stream);
  if (captured->capture)
    return kCaptureUnsupported;
  captured->capture = std::make_unique<Graph>();
  return kSuccess;
}
int cuStreamEndCapture(void *stream, void **graph) {
  auto *captured = static_cast<Stream *>(stream);
  if (!captured->capture)
    return kCaptureInvalidated;
  *graph = captured->capture.release();
  return kSuccess;
}
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
  *executable = new Graph(*static_cast<Graph *>(graph));
  return kSuccess;
}
int cuGraphDestroy(void *graph) {
  delete static_cast<Graph *>(graph);
  return kSuccess;
}
int cuGraphExecDestroy(void *graph) {
  delete static_cast<Graph *>(graph);
  return kSuccess;
}
int cuGraphLaunch(void *executable, void *stream) {
  for (const Work &work : static_cast<Graph *>(executable)->works)
    if (int error = enqueue(stream, work))
      return error;
  return kSuccess;
}

} // extern "C"

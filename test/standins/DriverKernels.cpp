// Kernels of the driver's stand-in: functions of a shared object for the host.
#include "test/standins/Driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace standin {
namespace {

// Launch limits of GPUs from sm_80 on.
constexpr unsigned kMaxBlocksX = 0x7fffffff, kMaxBlocksYZ = 65535;
constexpr unsigned kMaxThreads = 1024, kMaxThreadsZ = 64;
/// Maximum shared memory of a launch, unless the kernel was configured for more
/// (cuFuncSetAttribute).
constexpr unsigned kMaxSharedBytes = 48 << 10;
/// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, and its limit on sm_90.
constexpr int kMaxSharedBytesAttribute = 8, kMaxSharedBytesOfGpus = 227 << 10;

struct Argument {
  size_t bytes = 1, alignment = 1;
};

struct Kernel {
  using Entry = void (*)(void *memory, void *offsets);
  std::string name;
  int gpu = -1; ///< whose module it is of
  Entry entry = nullptr;
  int32_t *unmetWait = nullptr; ///< set by a block that would wait forever; null: none can
  std::vector<Argument> arguments;
  unsigned blocks = 0, threads = 0;
  unsigned sharedBytes = 0;                  ///< that a launch has to ask for
  unsigned maxSharedBytes = kMaxSharedBytes; ///< that it may ask for
};

struct Module {
  void *library = nullptr;
  std::map<std::string, Kernel> kernels;
};

/// The size of a shared object in memory: its table of sections comes last.
size_t sizeOf(const void *image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return 0;
  return header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
}

/// A line of ST_STANDIN_KERNELS.
Kernel readKernel(const std::string &line) {
  std::istringstream words(line);
  Kernel kernel;
  words >> kernel.name >> kernel.blocks >> kernel.threads >> kernel.sharedBytes;
  Argument argument;
  for (char at = 0; words >> argument.bytes >> at >> argument.alignment;)
    kernel.arguments.push_back(argument);
  return kernel;
}

/// Checks a kernel's arguments as the GPU would when it runs.
int checkArguments(const Kernel &kernel, const std::vector<uint64_t> &addresses) {
  for (size_t i = 0; i < addresses.size(); ++i) {
    const int owner = gpuMemory.owner(addresses[i], kernel.arguments[i].bytes);
    if (owner != kernel.gpu) {
      Gpu &gpu = gpuOf(kernel.gpu);
      std::lock_guard<std::mutex> lock(gpu.mutex);
      if (gpu.peers.count(owner) == 0)
        return kIllegalAddress;
    }
    if (addresses[i] % kernel.arguments[i].alignment != 0)
      return kMisalignedAddress;
  }
  return kSuccess;
}

void run(const Kernel &kernel, const std::vector<uint64_t> &addresses) {
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
  kernel.entry(&memory, &places);
}

bool waitsForever(const Kernel &kernel) {
  return kernel.unmetWait && __atomic_exchange_n(kernel.unmetWait, 0, __ATOMIC_RELAXED) != 0;
}

} // namespace
} // namespace standin

using namespace standin;

extern "C" {

int cuModuleLoadDataEx(void **loaded, const void *image, unsigned, int *, void **) {
  ST_STANDIN_CALL();
  if (int error = state())
    return error;
  if (int error = forbidWhileCapturing())
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
  for (std::string line; std::getline(lines, line);) {
    Kernel kernel = readKernel(line);
    kernel.gpu = currentGpu();
    kernel.entry = reinterpret_cast<Kernel::Entry>(
        ::dlsym(module->library, ("_mlir_ciface_launch_" + kernel.name).c_str()));
    kernel.unmetWait = static_cast<int32_t *>(::dlsym(module->library, "st_unmet_wait"));
    module->kernels[kernel.name] = std::move(kernel);
  }
  *loaded = module.release();
  return kSuccess;
}

int cuModuleUnload(void *module) {
  ST_STANDIN_CALL();
  if (int error = forbidWhileCapturing())
    return error;
  auto *loaded = static_cast<Module *>(module);
  ::dlclose(loaded->library);
  delete loaded;
  return kSuccess;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  ST_STANDIN_CALL();
  auto &kernels = static_cast<Module *>(module)->kernels;
  auto it = kernels.find(name);
  if (it == kernels.end() || !it->second.entry)
    return kNotFound;
  *function = &it->second;
  return kSuccess;
}

int cuFuncSetAttribute(void *function, int attribute, int value) {
  ST_STANDIN_CALL();
  if (int error = state())
    return error;
  if (attribute != kMaxSharedBytesAttribute || value < 0 || value > kMaxSharedBytesOfGpus)
    return kInvalidValue;
  static_cast<Kernel *>(function)->maxSharedBytes = static_cast<unsigned>(value);
  return kSuccess;
}

int cuLaunchKernel(void *function, unsigned blocksX, unsigned blocksY, unsigned blocksZ,
                   unsigned threadsX, unsigned threadsY, unsigned threadsZ, unsigned sharedBytes,
                   void *stream, void **arguments, void **extra) {
  ST_STANDIN_CALL();
  if (int error = state())
    return error;
  const auto &kernel = *static_cast<const Kernel *>(function);
  if (kernel.gpu != currentGpu())
    return kInvalidHandle;
  const auto isWithin = [](unsigned value, unsigned most) { return value >= 1 && value <= most; };
  if (!isWithin(blocksX, kMaxBlocksX) || !isWithin(blocksY, kMaxBlocksYZ) ||
      !isWithin(blocksZ, kMaxBlocksYZ) || !isWithin(threadsX, kMaxThreads) ||
      !isWithin(threadsY, kMaxThreads) || !isWithin(threadsZ, kMaxThreadsZ) ||
      uint64_t{threadsX} * threadsY * threadsZ > kMaxThreads ||
      sharedBytes > kernel.maxSharedBytes || (arguments && extra))
    return kInvalidValue;
  // Functions of the host have built-in numbers of blocks and threads.
  if (blocksX != kernel.blocks || threadsX != kernel.threads || blocksY * blocksZ != 1 ||
      threadsY * threadsZ != 1 || sharedBytes != kernel.sharedBytes || extra)
    return kLaunchOutOfResources;
  // Arguments are read now, as the driver does.
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < kernel.arguments.size(); ++i)
    addresses.push_back(*static_cast<const uint64_t *>(arguments[i]));
  return enqueue(stream, [&kernel, addresses] {
    const int error = findFailure(kernel.name);
    while (error == kNeverEnds)
      std::this_thread::sleep_for(std::chrono::seconds(1));
    if (error)
      return error;
    if (int error = checkArguments(kernel, addresses))
      return error;
    if (const long time = setting("ST_STANDIN_KERNEL_US", 0))
      std::this_thread::sleep_for(std::chrono::microseconds(time));
    run(kernel, addresses);
    return int(waitsForever(kernel) ? kLaunchTimeout : kSuccess);
  });
}

} // extern "C"

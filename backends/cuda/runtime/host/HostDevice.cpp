#include "backends/cuda/runtime/GpuDevice.h"
#include "backends/cuda/runtime/host/HostProduct.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace st::cuda {
namespace {

// A one-dimensional buffer in the calling convention of compiled kernels.
struct BufferDescription {
  void *allocated, *aligned;
  int64_t offset, size, stride;
};
using Entry = void (*)(BufferDescription *memory, BufferDescription *offsets);

uint8_t *pointer(Address address) { return reinterpret_cast<uint8_t *>(address); }

// A shared object loaded from memory.
class Library {
public:
  Library() = default;
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;
  ~Library() {
    if (handle)
      ::dlclose(handle);
    if (file >= 0)
      ::close(file);
  }

  absl::Status open(const std::string &bytes);
  absl::StatusOr<Entry> find(const std::string &kernel) const;
  // The word that a kernel sets if a block would have to wait for another one; null if no kernel
  // has semaphores.
  int32_t *unmetWait() const { return static_cast<int32_t *>(::dlsym(handle, "st_unmet_wait")); }

private:
  void *handle = nullptr;
  int file = -1; // stays open as long as the library, because the loader identifies the library by
                 // its name
};

absl::Status Library::open(const std::string &bytes) {
  file = ::memfd_create("st-kernels", MFD_CLOEXEC);
  if (file < 0)
    return absl::UnavailableError(absl::StrCat("no memory for kernels: ", std::strerror(errno)));
  size_t written = 0;
  ssize_t count = 1;
  while (written < bytes.size() && count > 0) {
    count = ::write(file, bytes.data() + written, bytes.size() - written);
    written += count > 0 ? static_cast<size_t>(count) : 0;
  }
  if (written == bytes.size())
    handle = ::dlopen(absl::StrCat("/proc/self/fd/", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle)
    return absl::OkStatus();
  const char *reason = ::dlerror();
  return absl::InvalidArgumentError(
      absl::StrCat("the program's kernels cannot be loaded: ", reason ? reason : "no memory"));
}

absl::StatusOr<Entry> Library::find(const std::string &kernel) const {
  void *symbol = ::dlsym(handle, absl::StrCat("_mlir_ciface_launch_", kernel).c_str());
  if (!symbol)
    return absl::InvalidArgumentError(absl::StrCat("the program's code has no kernel ", kernel));
  return reinterpret_cast<Entry>(symbol);
}

// Devices of one program share it.
absl::StatusOr<std::shared_ptr<const Library>> shareLibrary(const std::string &bytes) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const Library>> known; // by their bytes
  std::lock_guard<std::mutex> lock(mutex);
  for (auto it = known.begin(); it != known.end();)
    it = it->second.expired() ? known.erase(it) : std::next(it);
  if (auto it = known.find(bytes); it != known.end())
    if (std::shared_ptr<const Library> library = it->second.lock())
      return library;
  auto library = std::make_shared<Library>();
  ST_RETURN_IF_ERROR(library->open(bytes));
  known[bytes] = library;
  return library;
}

class HostMark : public GpuMark {
public:
  absl::StatusOr<bool> isReached() override { return true; }

  const std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
};

// Kernels run on the launching thread.
class HostStream : public GpuStream {
public:
  HostStream(const std::vector<Entry> &entries, int32_t *unmetWait)
      : entries(entries), unmetWait(unmetWait) {}

  absl::Status beginRecording() override { return cannotRecord(); }
  absl::StatusOr<std::unique_ptr<GpuGraph>> endRecording() override { return cannotRecord(); }
  absl::Status launch(const GpuGraph &) override { return cannotRecord(); }

  absl::Status copy(Address to, int64_t toPitch, Address from, int64_t fromPitch,
                    Extent extent) override {
    for (int64_t row = 0; row < extent.rows; ++row)
      std::memmove(pointer(to) + row * toPitch, pointer(from) + row * fromPitch,
                   static_cast<size_t>(extent.rowBytes));
    return absl::OkStatus();
  }

  absl::Status zero(Address to, int64_t pitch, Extent extent) override {
    for (int64_t row = 0; row < extent.rows; ++row)
      std::memset(pointer(to) + row * pitch, 0, static_cast<size_t>(extent.rowBytes));
    return absl::OkStatus();
  }

  absl::Status writeWord(Address to, uint32_t word) override {
    std::memcpy(pointer(to), &word, sizeof(word));
    return absl::OkStatus();
  }

  absl::Status launch(int64_t kernel, absl::Span<const Address> arguments) override {
    // Offsets are relative to the first buffer.
    const Address base =
        arguments.empty() ? 0 : *std::min_element(arguments.begin(), arguments.end());
    std::vector<int64_t> offsets;
    for (Address argument : arguments)
      offsets.push_back(static_cast<int64_t>(argument - base));
    BufferDescription memory{pointer(base), pointer(base), 0, INT64_MAX, 1};
    BufferDescription places{offsets.data(), offsets.data(), 0,
                             static_cast<int64_t>(offsets.size()), 1};
    entries[kernel](&memory, &places);
    if (unmetWait && __atomic_exchange_n(unmetWait, 0, __ATOMIC_RELAXED) != 0)
      return absl::InternalError("a block waits forever for a semaphore: the semaphores were not "
                                 "zero when the kernel started");
    return absl::OkStatus();
  }

  absl::Status multiply(const proto::CudaProduct &product,
                        const ProductOperands &operands) override {
    return multiplyOnHost(product, operands);
  }
  absl::StatusOr<bool> prepare(const proto::CudaProduct &, const ProductOperands &,
                               GpuTrial *) override {
    return true;
  }
  bool canMultiply(const proto::CudaProduct &) const override { return true; }

  absl::Status prepare(const proto::CudaAttention &, GpuTrial &) override {
    return absl::UnimplementedError("the host has no library for attention");
  }
  bool canAttend(const proto::CudaAttention &) const override { return false; }
  absl::Status attend(const proto::CudaAttention &, const AttentionOperands &) override {
    return absl::InternalError("the host has no library for attention");
  }

  // Work is done when it is submitted.
  absl::StatusOr<Mark> mark() override { return Mark(); }
  absl::StatusOr<Mark> markTime() override { return std::make_shared<HostMark>(); }
  absl::Status waitFor(const Mark &) override { return absl::OkStatus(); }
  absl::StatusOr<bool> isDone() override { return true; }
  absl::Status wait() override { return absl::OkStatus(); }

private:
  static absl::Status cannotRecord() { return absl::InternalError("the host records no graphs"); }

  const std::vector<Entry> &entries;
  int32_t *unmetWait;
};

class HostDevice : public GpuDevice {
public:
  ~HostDevice() override {
    for (auto [memory, bytes] : allocations)
      ::munmap(memory, bytes);
  }

  absl::Status load(const proto::CudaCode &code);

  absl::StatusOr<Address> allocate(int64_t bytes) override {
    const size_t size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
    void *memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
    allocations.emplace_back(memory, size);
    return reinterpret_cast<Address>(memory);
  }

  void release(Address memory) override {
    auto it = std::find_if(allocations.begin(), allocations.end(), [&](const auto &allocation) {
      return allocation.first == pointer(memory);
    });
    if (it == allocations.end())
      return;
    ::munmap(it->first, it->second);
    allocations.erase(it);
  }

  absl::Status write(Address to, absl::Span<const uint8_t> bytes) override {
    std::copy(bytes.begin(), bytes.end(), pointer(to));
    return absl::OkStatus();
  }

  absl::Status read(Address from, absl::Span<uint8_t> bytes) override {
    std::copy_n(pointer(from), bytes.size(), bytes.begin());
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<GpuStream>> createStream() override {
    return std::make_unique<HostStream>(entries, unmetWait);
  }

  absl::StatusOr<double> secondsBetween(const GpuMark &begin, const GpuMark &end) const override {
    return std::chrono::duration<double>(static_cast<const HostMark &>(end).time -
                                         static_cast<const HostMark &>(begin).time)
        .count();
  }

  absl::StatusOr<std::unique_ptr<GpuGroup>> join(const GroupMember &) override {
    return absl::InternalError("the host has no NCCL groups");
  }

private:
  std::shared_ptr<const Library> library;
  std::vector<Entry> entries; // by kernel
  int32_t *unmetWait = nullptr;
  std::vector<std::pair<void *, size_t>> allocations;
};

absl::Status checkProcessor(const std::string &chip) {
#if defined(__x86_64__)
  if (chip == "x86-64-v3" && __builtin_cpu_supports("x86-64-v3"))
    return absl::OkStatus();
#else
  if (chip == "generic")
    return absl::OkStatus();
#endif
  return absl::UnimplementedError(absl::StrCat("the program's kernels are for processors of kind ",
                                               chip, "; this processor is of another kind"));
}

absl::Status HostDevice::load(const proto::CudaCode &code) {
  if (code.kernels().empty())
    return absl::OkStatus();
  const auto image =
      std::find_if(code.images().begin(), code.images().end(), [](const proto::CudaImage &image) {
        return image.kind() == proto::CudaImage::HOST;
      });
  if (image == code.images().end())
    return absl::InvalidArgumentError("the program has no kernels for the host");
  ST_RETURN_IF_ERROR(checkProcessor(image->chip()));
  ST_ASSIGN_OR_RETURN(library, shareLibrary(image->data()));
  unmetWait = library->unmetWait();
  for (const proto::CudaKernel &kernel : code.kernels()) {
    ST_ASSIGN_OR_RETURN(entries.emplace_back(), library->find(kernel.name()));
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::unique_ptr<GpuDevice>> createHostDevice(const proto::CudaCode &code) {
  auto device = std::make_unique<HostDevice>();
  ST_RETURN_IF_ERROR(device->load(code));
  return device;
}

} // namespace st::cuda

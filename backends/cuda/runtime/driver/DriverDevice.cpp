#include "backends/cuda/runtime/driver/DriverDevice.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace st::cuda {

/// Bytes per staged piece, enough to reach the bus's full rate.
static constexpr size_t kStagedBytes = size_t{4} << 20;

DriverDevice::~DriverDevice() {
  if (!context || !enter().ok())
    return;
  for (const std::vector<Handle> &kind : events)
    for (Handle event : kind)
      driver.destroyEvent(event);
  for (auto &half : halves) {
    if (half.event)
      driver.destroyEvent(half.event);
    if (half.memory)
      driver.releasePinned(half.memory);
  }
  if (stagingStream)
    driver.destroyStream(stagingStream);
  for (DevicePointer memory : allocations)
    driver.release(memory);
  if (module)
    driver.unloadModule(module);
  driver.releaseContext(number);
}

// A cubin runs on GPUs of its major version with an equal or higher minor version; PTX runs on all
// GPUs that are not older.
absl::StatusOr<std::vector<const proto::CudaImage *>>
DriverDevice::chooseImages(const proto::CudaCode &code) const {
  int major = 0, minor = 0;
  ST_RETURN_IF_ERROR(
      driver.check(driver.getAttribute(&major, kCapabilityMajor, number), "asking a GPU"));
  ST_RETURN_IF_ERROR(
      driver.check(driver.getAttribute(&minor, kCapabilityMinor, number), "asking a GPU"));
  const int own = 10 * major + minor;
  std::vector<const proto::CudaImage *> chosen;
  for (const proto::CudaImage &image : code.images()) {
    absl::string_view digits = image.chip();
    int chip = 0;
    if (!absl::ConsumePrefix(&digits, "sm_") || !absl::SimpleAtoi(digits, &chip) || chip > own)
      continue;
    if (image.kind() == proto::CudaImage::PTX ||
        (image.kind() == proto::CudaImage::CUBIN && chip / 10 == major))
      chosen.push_back(&image);
  }
  if (!chosen.empty())
    return chosen;
  return absl::UnimplementedError(absl::StrCat("the program is for ", code.gpu().chip(),
                                               ", and GPU ", number, " of this machine is sm_",
                                               own));
}

void DriverDevice::reach(const DriverDevice &other) {
  int can = 0;
  if (driver.canAccessPeer(&can, number, other.number) == 0 && can && enter().ok())
    driver.enablePeer(other.context, 0);
}

absl::Status DriverDevice::loadImage(const proto::CudaImage &image) {
  std::string log(4096, '\0');
  int names[] = {kJitErrorLog, kJitErrorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  // PTX is text and must end with a zero byte, as std::string's data does.
  absl::Status loaded = driver.check(
      driver.loadModule(&module, image.data().c_str(), 2, names, values), "loading kernels");
  return loaded.ok() ? loaded
                     : absl::UnavailableError(
                           absl::StrCat(loaded.message(), *log.c_str() ? ": " : "", log.c_str()));
}

absl::Status DriverDevice::load(const proto::CudaCode &code) {
  ST_RETURN_IF_ERROR(driver.check(driver.retainContext(&context, number), "opening a GPU"));
  ST_RETURN_IF_ERROR(enter());
  int pitch = 0;
  ST_RETURN_IF_ERROR(driver.check(driver.getAttribute(&pitch, kMaxPitch, number), "asking a GPU"));
  maxPitch = pitch;
  if (code.kernels().empty())
    return absl::OkStatus();
  ST_ASSIGN_OR_RETURN(const std::vector<const proto::CudaImage *> images, chooseImages(code));
  // A driver older than the toolkit refuses its cubins and compiles the PTX.
  absl::Status first = loadImage(*images.front()), loaded = first;
  for (size_t next = 1; next < images.size() && !loaded.ok(); ++next)
    loaded = loadImage(*images[next]);
  if (!loaded.ok())
    return images.size() == 1
               ? first
               : absl::Status(first.code(),
                              absl::StrCat(first.message(), "; of PTX: ", loaded.message()));
  if (!first.ok())
    std::fprintf(stderr, "GPU %d: the driver compiles PTX, as it refuses the cubin: %s\n", number,
                 std::string(first.message()).c_str());
  for (const proto::CudaKernel &kernel : code.kernels()) {
    Kernel &created = kernels.emplace_back();
    created.blocks = static_cast<unsigned>(kernel.blocks());
    created.threads = static_cast<unsigned>(kernel.threads());
    ST_RETURN_IF_ERROR(driver.check(
        driver.getFunction(&created.function, module, kernel.name().c_str()), "finding a kernel"));
    created.sharedBytes = static_cast<unsigned>(kernel.shared_bytes());
    if (created.sharedBytes > 0)
      ST_RETURN_IF_ERROR(
          driver.check(driver.setFunctionAttribute(created.function, kMaxSharedBytes,
                                                   static_cast<int>(created.sharedBytes)),
                       "setting the shared memory of a kernel"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Address> DriverDevice::allocate(int64_t bytes) {
  ST_RETURN_IF_ERROR(enter());
  DevicePointer memory = 0;
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  ST_RETURN_IF_ERROR(driver.check(driver.allocate(&memory, size), "allocating memory of a GPU"));
  {
    std::lock_guard<std::mutex> lock(mutex);
    allocations.push_back(memory);
  }
  // Without a stream, the clearing would run on the legacy stream. No other stream waits for that,
  // so it could clear data that is written later.
  std::lock_guard<std::mutex> lock(staging);
  ST_RETURN_IF_ERROR(openStagingStream());
  ST_RETURN_IF_ERROR(
      driver.check(driver.setBytes(memory, 0, size, stagingStream), "clearing memory of a GPU"));
  ST_RETURN_IF_ERROR(driver.check(driver.synchronize(stagingStream), "clearing memory of a GPU"));
  return memory;
}

void DriverDevice::copyOneByOne(const absl::Status &refused) {
  if (!copiesOneByOne.exchange(true))
    std::fprintf(stderr, "GPU %d copies rows one by one: %s\n", number,
                 std::string(refused.message()).c_str());
}

absl::Status DriverDevice::openStagingStream() {
  return stagingStream ? absl::OkStatus()
                       : driver.check(driver.createStream(&stagingStream, kStreamNonBlocking),
                                      "creating a stream");
}

void DriverDevice::release(Address memory) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    allocations.erase(std::remove(allocations.begin(), allocations.end(), memory),
                      allocations.end());
  }
  if (enter().ok())
    driver.release(memory);
}

template <class Begin, class End>
absl::Status DriverDevice::stage(size_t bytes, Begin begin, End end) {
  ST_RETURN_IF_ERROR(enter());
  std::lock_guard<std::mutex> lock(staging);
  ST_RETURN_IF_ERROR(openStagingStream());
  for (auto &half : halves) {
    if (!half.memory)
      ST_RETURN_IF_ERROR(driver.check(driver.allocatePinned(&half.memory, kStagedBytes),
                                      "allocating pinned memory of the host"));
    if (!half.event)
      ST_RETURN_IF_ERROR(
          driver.check(driver.createEvent(&half.event, kEventDisableTiming), "creating an event"));
  }
  const size_t count = (bytes + kStagedBytes - 1) / kStagedBytes;
  auto sizeOf = [&](size_t piece) { return std::min(kStagedBytes, bytes - piece * kStagedBytes); };
  for (size_t piece = 0; piece < count + 2; ++piece) {
    auto &half = halves[piece % 2];
    if (piece >= 2) {
      ST_RETURN_IF_ERROR(driver.check(driver.waitForEventOnHost(half.event), "a copy"));
      end(half.memory, (piece - 2) * kStagedBytes, sizeOf(piece - 2));
    }
    if (piece >= count)
      continue;
    ST_RETURN_IF_ERROR(
        driver.check(begin(half.memory, piece * kStagedBytes, sizeOf(piece)), "a copy"));
    ST_RETURN_IF_ERROR(driver.check(driver.record(half.event, stagingStream), "a copy"));
  }
  return absl::OkStatus();
}

absl::Status DriverDevice::write(Address to, absl::Span<const uint8_t> bytes) {
  return stage(
      bytes.size(),
      [&](void *memory, size_t offset, size_t size) {
        std::memcpy(memory, bytes.data() + offset, size);
        return driver.copyToDevice(to + offset, memory, size, stagingStream);
      },
      [](void *, size_t, size_t) {});
}

absl::Status DriverDevice::read(Address from, absl::Span<uint8_t> bytes) {
  return stage(
      bytes.size(),
      [&](void *memory, size_t offset, size_t size) {
        return driver.copyFromDevice(memory, from + offset, size, stagingStream);
      },
      [&](void *memory, size_t offset, size_t size) {
        std::memcpy(bytes.data() + offset, memory, size);
      });
}

absl::StatusOr<ProductChoices *> DriverDevice::getChoices() {
  ST_ASSIGN_OR_RETURN(const BlasLt *blas, getBlasLt());
  std::lock_guard<std::mutex> lock(mutex);
  if (!productChoices) {
    char name[256] = "";
    ST_RETURN_IF_ERROR(driver.check(driver.getName(name, sizeof(name), number), "asking a GPU"));
    productChoices = ProductChoices::get(name, blas->getVersion());
  }
  return productChoices.get();
}

absl::StatusOr<std::unique_ptr<GpuStream>> DriverDevice::createStream() {
  return createDriverStream(*this);
}

absl::StatusOr<Handle> DriverDevice::takeEvent(bool isTimed) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    std::vector<Handle> &unused = events[isTimed];
    if (!unused.empty()) {
      Handle event = unused.back();
      unused.pop_back();
      return event;
    }
  }
  Handle event = nullptr;
  ST_RETURN_IF_ERROR(driver.check(driver.createEvent(&event, isTimed ? 0 : kEventDisableTiming),
                                  "creating an event"));
  return event;
}

absl::StatusOr<double> DriverDevice::secondsBetween(const GpuMark &begin,
                                                    const GpuMark &end) const {
  ST_RETURN_IF_ERROR(enter());
  float milliseconds = 0;
  ST_RETURN_IF_ERROR(driver.check(
      driver.getElapsedTime(&milliseconds, static_cast<const DriverMark &>(begin).event,
                            static_cast<const DriverMark &>(end).event),
      "querying a time"));
  return milliseconds / 1e3;
}

absl::StatusOr<bool> DriverMark::isReached() {
  ST_RETURN_IF_ERROR(device.enter());
  const int result = device.driver.isEventReached(event);
  if (result != kNotReady)
    ST_RETURN_IF_ERROR(device.driver.check(result, "running a program's kernels"));
  return result != kNotReady;
}

absl::StatusOr<int64_t> countGpus() {
  ST_ASSIGN_OR_RETURN(const Driver *driver, getDriver());
  int count = 0;
  ST_RETURN_IF_ERROR(driver->check(driver->getDeviceCount(&count), "counting GPUs"));
  if (count == 0)
    return absl::NotFoundError("the program is for GPUs, and this machine has none");
  return count;
}

absl::StatusOr<std::unique_ptr<GpuDevice>> createDriverDevice(const proto::CudaCode &code,
                                                              int64_t ordinal) {
  ST_ASSIGN_OR_RETURN(const Driver *driver, getDriver());
  DeviceNumber number = 0;
  ST_RETURN_IF_ERROR(
      driver->check(driver->getDevice(&number, static_cast<int>(ordinal)), "finding a GPU"));
  auto device = std::make_unique<DriverDevice>(*driver, number);
  ST_RETURN_IF_ERROR(device->load(code));
  return device;
}

void connectDrivers(GpuDevice &one, GpuDevice &other) {
  auto &first = static_cast<DriverDevice &>(one), &second = static_cast<DriverDevice &>(other);
  first.reach(second);
  second.reach(first);
}

} // namespace st::cuda

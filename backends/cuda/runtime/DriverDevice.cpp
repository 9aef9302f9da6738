#include "backends/cuda/runtime/DriverLibraries.h"
#include "backends/cuda/runtime/DriverProduct.h"
#include "backends/cuda/runtime/GpuDevice.h"
#include "backends/cuda/runtime/NcclGroup.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace st::cuda {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20; // as NVIDIA advises for its newest GPUs

struct Kernel {
  Handle function = nullptr;
  unsigned blocks = 0, threads = 0;
};

class DriverDevice : public GpuDevice {
public:
  DriverDevice(const Driver &driver, DeviceNumber number) : driver(driver), number(number) {}
  ~DriverDevice() override;

  absl::Status load(const proto::CudaCode &code);
  /// Contexts belong to threads.
  absl::Status enter() const { return driver.check(driver.setContext(context), "entering a GPU"); }

  absl::StatusOr<Address> allocate(int64_t bytes) override;
  absl::Status write(Address to, absl::Span<const uint8_t> bytes) override {
    ST_RETURN_IF_ERROR(enter());
    return driver.check(driver.copyToDevice(to, bytes.data(), bytes.size()), "a copy to a GPU");
  }
  absl::Status read(Address from, absl::Span<uint8_t> bytes) override {
    ST_RETURN_IF_ERROR(enter());
    return driver.check(driver.copyFromDevice(bytes.data(), from, bytes.size()),
                        "a copy from a GPU");
  }
  absl::StatusOr<std::unique_ptr<GpuStream>> createStream() override;
  absl::StatusOr<std::string> identity() override {
    std::string uuid(16, '\0');
    ST_RETURN_IF_ERROR(driver.check(driver.getUuid(uuid.data(), number), "asking a GPU"));
    return uuid;
  }
  absl::StatusOr<std::unique_ptr<GpuGroup>> join(const GroupMember &member) override {
    ST_RETURN_IF_ERROR(enter());
    return joinNcclGroup(member);
  }

  /// An event, new or used before, and its return.
  absl::StatusOr<Handle> takeEvent();
  void returnEvent(Handle event) {
    std::lock_guard<std::mutex> lock(mutex);
    events.push_back(event);
  }

  const Driver &driver;
  std::vector<Kernel> kernels;

private:
  absl::StatusOr<const proto::CudaImage *> chooseImage(const proto::CudaCode &code) const;
  void enablePeers() const;

  DeviceNumber number;
  Handle context = nullptr, module = nullptr;
  std::mutex mutex;
  std::vector<DevicePointer> allocations;
  std::vector<Handle> events; // that nobody uses
};

class DriverMark : public GpuMark {
public:
  DriverMark(DriverDevice &device, Handle event) : event(event), device(device) {}
  ~DriverMark() override { device.returnEvent(event); }

  absl::StatusOr<bool> isReached() override {
    ST_RETURN_IF_ERROR(device.enter());
    const int result = device.driver.isEventReached(event);
    if (result != kNotReady)
      ST_RETURN_IF_ERROR(device.driver.check(result, "running a program's kernels"));
    return result != kNotReady;
  }

  const Handle event;

private:
  DriverDevice &device;
};

class DriverGraph : public GpuGraph {
public:
  DriverGraph(DriverDevice &device, Handle executable) : executable(executable), device(device) {}
  ~DriverGraph() override {
    if (device.enter().ok())
      device.driver.destroyExecutable(executable);
  }

  const Handle executable;

private:
  DriverDevice &device;
};

class DriverStream : public StreamOfDriver {
public:
  DriverStream(DriverDevice &device, Handle stream)
      : device(device), driver(device.driver), stream(stream) {}
  ~DriverStream() override {
    if (device.enter().ok())
      driver.destroyStream(stream);
  }

  bool canRecord() const override { return true; }
  absl::Status beginRecording() override {
    ST_RETURN_IF_ERROR(device.enter());
    return driver.check(driver.beginCapture(stream, kCaptureOfThread), "recording a graph");
  }
  absl::StatusOr<std::unique_ptr<GpuGraph>> endRecording() override;
  absl::Status launch(const GpuGraph &graph) override {
    ST_RETURN_IF_ERROR(device.enter());
    return driver.check(
        driver.launchGraph(static_cast<const DriverGraph &>(graph).executable, stream),
        "launching a graph");
  }

  absl::Status copy(Address to, int64_t toPitch, Address from, int64_t fromPitch,
                    Extent extent) override;
  absl::Status zero(Address to, int64_t pitch, Extent extent) override;
  absl::Status writeWord(Address to, uint32_t word) override {
    ST_RETURN_IF_ERROR(device.enter());
    return driver.check(driver.setWords(to, word, 1, stream), "writing a number");
  }
  absl::Status launch(int64_t kernel, absl::Span<const Address> arguments) override;
  absl::Status multiply(const proto::CudaProduct &product,
                        const ProductOperands &operands) override;
  absl::StatusOr<Mark> mark() override;
  absl::Status waitFor(const Mark &mark) override;
  absl::StatusOr<bool> isDone() override {
    ST_RETURN_IF_ERROR(device.enter());
    const int result = driver.isStreamDone(stream);
    if (result != kNotReady)
      ST_RETURN_IF_ERROR(driver.check(result, "running a program's kernels"));
    return result != kNotReady;
  }
  absl::Status wait() override {
    ST_RETURN_IF_ERROR(device.enter());
    return driver.check(driver.synchronize(stream), "running a program's kernels");
  }
  Handle handle() const override { return stream; }

private:
  DriverDevice &device;
  const Driver &driver;
  Handle stream, library = nullptr;
  DevicePointer workspace = 0;
  std::map<const proto::CudaProduct *, std::unique_ptr<DriverProduct>> products;
};

// ---- the device ---------------------------------------------------------------------------------

DriverDevice::~DriverDevice() {
  if (!context || !enter().ok())
    return;
  for (Handle event : events)
    driver.destroyEvent(event);
  for (DevicePointer memory : allocations)
    driver.release(memory);
  if (module)
    driver.unloadModule(module);
  driver.releaseContext(number);
}

// A cubin runs on GPUs of its major version from its minor one on, PTX on all that are not older.
absl::StatusOr<const proto::CudaImage *>
DriverDevice::chooseImage(const proto::CudaCode &code) const {
  int major = 0, minor = 0;
  ST_RETURN_IF_ERROR(
      driver.check(driver.getAttribute(&major, kCapabilityMajor, number), "asking a GPU"));
  ST_RETURN_IF_ERROR(
      driver.check(driver.getAttribute(&minor, kCapabilityMinor, number), "asking a GPU"));
  const int own = 10 * major + minor;
  for (const proto::CudaImage &image : code.images()) {
    absl::string_view digits = image.chip();
    int chip = 0;
    if (!absl::ConsumePrefix(&digits, "sm_") || !absl::SimpleAtoi(digits, &chip) || chip > own)
      continue;
    if (image.kind() == proto::CudaImage::PTX ||
        (image.kind() == proto::CudaImage::CUBIN && chip / 10 == major))
      return &image;
  }
  return absl::UnimplementedError(absl::StrCat("the program is for ", code.gpu().chip(),
                                               ", and GPU ", number, " of this machine is sm_",
                                               own));
}

/// GPUs that can read each other's memory do; kernels of the others cannot take part in
/// collectives.
void DriverDevice::enablePeers() const {
  int count = 0;
  if (driver.getDeviceCount(&count) != 0)
    return;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    DeviceNumber peer = 0;
    int can = 0;
    Handle other = nullptr;
    if (driver.getDevice(&peer, ordinal) != 0 || peer == number ||
        driver.canAccessPeer(&can, number, peer) != 0 || !can ||
        driver.retainContext(&other, peer) != 0)
      continue;
    driver.enablePeer(other, 0);
    driver.releaseContext(peer);
  }
}

absl::Status DriverDevice::load(const proto::CudaCode &code) {
  ST_RETURN_IF_ERROR(driver.check(driver.retainContext(&context, number), "opening a GPU"));
  ST_RETURN_IF_ERROR(enter());
  enablePeers();
  if (code.kernels().empty())
    return absl::OkStatus();
  ST_ASSIGN_OR_RETURN(const proto::CudaImage *image, chooseImage(code));
  std::string log(4096, '\0');
  int names[] = {kJitErrorLog, kJitErrorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  // PTX is a text, which ends with a zero as std::string's does.
  absl::Status loaded = driver.check(
      driver.loadModule(&module, image->data().c_str(), 2, names, values), "loading kernels");
  if (!loaded.ok())
    return absl::UnavailableError(
        absl::StrCat(loaded.message(), *log.c_str() ? ": " : "", log.c_str()));
  for (const proto::CudaKernel &kernel : code.kernels()) {
    Kernel &made = kernels.emplace_back();
    made.blocks = static_cast<unsigned>(kernel.blocks());
    made.threads = static_cast<unsigned>(kernel.threads());
    ST_RETURN_IF_ERROR(driver.check(
        driver.getFunction(&made.function, module, kernel.name().c_str()), "finding a kernel"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Address> DriverDevice::allocate(int64_t bytes) {
  ST_RETURN_IF_ERROR(enter());
  DevicePointer memory = 0;
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  ST_RETURN_IF_ERROR(driver.check(driver.allocate(&memory, size), "taking memory of a GPU"));
  {
    std::lock_guard<std::mutex> lock(mutex);
    allocations.push_back(memory);
  }
  ST_RETURN_IF_ERROR(driver.check(driver.setBytes(memory, 0, size), "clearing memory of a GPU"));
  return memory;
}

absl::StatusOr<std::unique_ptr<GpuStream>> DriverDevice::createStream() {
  ST_RETURN_IF_ERROR(enter());
  Handle stream = nullptr;
  ST_RETURN_IF_ERROR(
      driver.check(driver.createStream(&stream, kStreamNonBlocking), "creating a stream"));
  return std::make_unique<DriverStream>(*this, stream);
}

absl::StatusOr<Handle> DriverDevice::takeEvent() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!events.empty()) {
      Handle event = events.back();
      events.pop_back();
      return event;
    }
  }
  Handle event = nullptr;
  ST_RETURN_IF_ERROR(
      driver.check(driver.createEvent(&event, kEventDisableTiming), "creating an event"));
  return event;
}

// ---- a stream -----------------------------------------------------------------------------------

absl::Status DriverStream::copy(Address to, int64_t toPitch, Address from, int64_t fromPitch,
                                Extent extent) {
  ST_RETURN_IF_ERROR(device.enter());
  const auto bytes = static_cast<size_t>(extent.rowBytes);
  if (bytes == 0)
    return absl::OkStatus();
  if (extent.rows == 1)
    return driver.check(driver.copy(to, from, bytes, stream), "a copy on a GPU");
  Copy2D copy;
  copy.source = from;
  copy.sourcePitch = static_cast<size_t>(fromPitch);
  copy.target = to;
  copy.targetPitch = static_cast<size_t>(toPitch);
  copy.width = bytes;
  copy.height = static_cast<size_t>(extent.rows);
  return driver.check(driver.copy2D(&copy, stream), "a copy on a GPU");
}

absl::Status DriverStream::zero(Address to, int64_t pitch, Extent extent) {
  ST_RETURN_IF_ERROR(device.enter());
  if (extent.rowBytes == 0)
    return absl::OkStatus();
  const int64_t distance = std::max(pitch, extent.rowBytes);
  return driver.check(driver.setBytes2D(to, static_cast<size_t>(distance), 0,
                                        static_cast<size_t>(extent.rowBytes),
                                        static_cast<size_t>(extent.rows), stream),
                      "clearing memory of a GPU");
}

absl::Status DriverStream::launch(int64_t kernel, absl::Span<const Address> arguments) {
  ST_RETURN_IF_ERROR(device.enter());
  std::vector<Address> values(arguments.begin(), arguments.end());
  std::vector<void *> pointers;
  for (Address &value : values)
    pointers.push_back(&value);
  const Kernel &launched = device.kernels[static_cast<size_t>(kernel)];
  return driver.check(driver.launch(launched.function, launched.blocks, 1, 1, launched.threads, 1,
                                    1, 0, stream, pointers.data(), nullptr),
                      "launching a kernel");
}

absl::Status DriverStream::multiply(const proto::CudaProduct &product,
                                    const ProductOperands &operands) {
  ST_RETURN_IF_ERROR(device.enter());
  if (!library) {
    ST_ASSIGN_OR_RETURN(const BlasLt *blas, getBlasLt());
    ST_ASSIGN_OR_RETURN(workspace, device.allocate(kWorkspaceBytes));
    if (int result = blas->create(&library); result != 0)
      return absl::UnavailableError(absl::StrCat("cuBLASLt cannot start (status ", result, ")"));
  }
  std::unique_ptr<DriverProduct> &made = products[&product];
  if (!made) {
    ST_ASSIGN_OR_RETURN(made, DriverProduct::create(library, product, operands, kWorkspaceBytes));
  }
  return made->run(operands, workspace, stream);
}

absl::StatusOr<std::unique_ptr<GpuGraph>> DriverStream::endRecording() {
  ST_RETURN_IF_ERROR(device.enter());
  Handle graph = nullptr, executable = nullptr;
  ST_RETURN_IF_ERROR(driver.check(driver.endCapture(stream, &graph), "recording a graph"));
  const int result = driver.instantiate(&executable, graph, 0);
  driver.destroyGraph(graph);
  ST_RETURN_IF_ERROR(driver.check(result, "preparing a graph"));
  return std::make_unique<DriverGraph>(device, executable);
}

absl::StatusOr<Mark> DriverStream::mark() {
  ST_RETURN_IF_ERROR(device.enter());
  ST_ASSIGN_OR_RETURN(Handle event, device.takeEvent());
  auto mark = std::make_shared<DriverMark>(device, event);
  ST_RETURN_IF_ERROR(driver.check(driver.record(event, stream), "recording an event"));
  return mark;
}

absl::Status DriverStream::waitFor(const Mark &mark) {
  if (!mark)
    return absl::OkStatus();
  ST_RETURN_IF_ERROR(device.enter());
  return driver.check(driver.waitForEvent(stream, static_cast<const DriverMark &>(*mark).event, 0),
                      "waiting for an event");
}

} // namespace

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

} // namespace st::cuda

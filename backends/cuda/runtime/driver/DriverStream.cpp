#include "backends/cuda/runtime/driver/DriverAttention.h"
#include "backends/cuda/runtime/driver/DriverDevice.h"
#include "backends/cuda/runtime/driver/DriverProduct.h"
#include "backends/cuda/runtime/trial/AttentionTrial.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

namespace st::cuda {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20; // as NVIDIA advises for its newest GPUs
constexpr int64_t kMaxAttentionBytes = int64_t{1} << 30;
/// Number of timings, and of runs per timing.
constexpr int kTimings = 3, kTimedRuns = 3;

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
    const bool isOpen = device.enter().ok();
    plans.clear(); // cuDNN must be destroyed before its stream.
    cudnn.reset();
    if (isOpen)
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
  absl::StatusOr<Mark> mark() override { return record(/*isTimed=*/false); }
  absl::StatusOr<Mark> markTime() override { return record(/*isTimed=*/true); }
  absl::Status waitFor(const Mark &mark) override;
  absl::StatusOr<bool> isDone() override {
    ST_RETURN_IF_ERROR(device.enter());
    const int result = driver.isStreamDone(stream);
    if (result != kNotReady)
      ST_RETURN_IF_ERROR(driver.check(result, "running a program's kernels"));
    return result != kNotReady;
  }
  absl::StatusOr<bool> prepare(const proto::CudaProduct &product, const ProductOperands &operands,
                               GpuTrial *trial) override {
    ST_ASSIGN_OR_RETURN(const DriverProduct *known, getProduct(product, operands, trial));
    return !known->isSeparate();
  }
  bool canMultiply(const proto::CudaProduct &product) const override {
    auto it = products.find(&product);
    return it != products.end() && it->second && !it->second->isSeparate();
  }
  void forgetProducts() override { products.clear(); }
  absl::Status prepare(const proto::CudaAttention &attention, GpuTrial &trial) override;
  bool canAttend(const proto::CudaAttention &attention) const override {
    return attentions.count(&attention) != 0;
  }
  absl::Status attend(const proto::CudaAttention &attention,
                      const AttentionOperands &operands) override {
    ST_RETURN_IF_ERROR(device.enter());
    return attentions.at(&attention)->run(operands, attentionWorkspace, *this);
  }
  absl::Status wait() override {
    ST_RETURN_IF_ERROR(device.enter());
    return driver.check(driver.synchronize(stream), "running a program's kernels");
  }
  Handle handle() const override { return stream; }

private:
  absl::StatusOr<Mark> record(bool isTimed);
  absl::Status copyOneByOne(Address to, int64_t toPitch, Address from, int64_t fromPitch,
                            Extent extent);

  DriverDevice &device;
  const Driver &driver;
  Handle stream, library = nullptr;
  DevicePointer workspace = 0;
  std::map<const proto::CudaProduct *, std::unique_ptr<DriverProduct>> products;
  std::unique_ptr<CudnnHandle> cudnn;
  DevicePointer attentionWorkspace = 0;
  int64_t attentionBytes = 0;                                                    // of it
  std::map<std::string, absl::StatusOr<std::unique_ptr<DriverAttention>>> plans; // of equal ones
  std::map<const proto::CudaAttention *, DriverAttention *> attentions;

  absl::StatusOr<DriverProduct *> getProduct(const proto::CudaProduct &product,
                                             const ProductOperands &operands, GpuTrial *trial);
  absl::StatusOr<double> time(const std::function<absl::Status()> &work);
};

absl::Status DriverStream::copy(Address to, int64_t toPitch, Address from, int64_t fromPitch,
                                Extent extent) {
  ST_RETURN_IF_ERROR(device.enter());
  const auto bytes = static_cast<size_t>(extent.rowBytes);
  if (bytes == 0)
    return absl::OkStatus();
  if (extent.rows == 1)
    return driver.check(driver.copy(to, from, bytes, stream), "a copy on a GPU");
  if (!device.canCopyRows(std::max(fromPitch, toPitch)))
    return copyOneByOne(to, toPitch, from, fromPitch, extent);
  Copy2D copy;
  copy.source = from;
  copy.sourcePitch = static_cast<size_t>(fromPitch);
  copy.target = to;
  copy.targetPitch = static_cast<size_t>(toPitch);
  copy.width = bytes;
  copy.height = static_cast<size_t>(extent.rows);
  const int result = driver.copy2D(&copy, stream);
  if (result != kErrorInvalidValue)
    return driver.check(result, "a copy on a GPU");
  // As documented, this may fail for pitches that cuMemAllocPitch did not choose.
  const absl::Status refused = driver.check(
      result, absl::StrCat("a copy of rows ", fromPitch, " and ", toPitch, " bytes apart").c_str());
  ST_RETURN_IF_ERROR(copyOneByOne(to, toPitch, from, fromPitch, extent));
  device.copyOneByOne(refused);
  return absl::OkStatus();
}

absl::Status DriverStream::copyOneByOne(Address to, int64_t toPitch, Address from,
                                        int64_t fromPitch, Extent extent) {
  for (int64_t row = 0; row < extent.rows; ++row)
    ST_RETURN_IF_ERROR(driver.check(driver.copy(to + static_cast<Address>(row * toPitch),
                                                from + static_cast<Address>(row * fromPitch),
                                                static_cast<size_t>(extent.rowBytes), stream),
                                    "a copy on a GPU"));
  return absl::OkStatus();
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
                                    1, launched.sharedBytes, stream, pointers.data(), nullptr),
                      "launching a kernel");
}

/// The minimum over several timings of a few runs each.
absl::StatusOr<double> DriverStream::time(const std::function<absl::Status()> &work) {
  double minimum = HUGE_VAL;
  ST_RETURN_IF_ERROR(work()); // The first run loads the code.
  for (int timing = 0; timing < kTimings; ++timing) {
    ST_ASSIGN_OR_RETURN(const Mark begin, markTime());
    for (int i = 0; i < kTimedRuns; ++i)
      ST_RETURN_IF_ERROR(work());
    ST_ASSIGN_OR_RETURN(const Mark end, markTime());
    if (absl::Status done = wait(); !done.ok())
      return absl::AbortedError(done.message());
    ST_ASSIGN_OR_RETURN(const double seconds, device.secondsBetween(*begin, *end));
    minimum = std::min(minimum, seconds / kTimedRuns);
  }
  return minimum;
}

absl::StatusOr<DriverProduct *> DriverStream::getProduct(const proto::CudaProduct &product,
                                                         const ProductOperands &operands,
                                                         GpuTrial *trial) {
  ST_RETURN_IF_ERROR(device.enter());
  if (!library) {
    ST_ASSIGN_OR_RETURN(const BlasLt *blas, getBlasLt());
    ST_ASSIGN_OR_RETURN(workspace, device.allocate(kWorkspaceBytes));
    if (int result = blas->create(&library); result != 0)
      return absl::UnavailableError(absl::StrCat("cuBLASLt cannot start (status ", result, ")"));
  }
  std::unique_ptr<DriverProduct> &created = products[&product];
  if (!created) {
    ST_ASSIGN_OR_RETURN(ProductChoices * choices, device.getChoices());
    std::optional<ProductTrial> tried;
    if (trial)
      tried.emplace(
          ProductTrial{*trial, workspace, stream,
                       [&](const std::function<absl::Status()> &work) { return time(work); }});
    ST_ASSIGN_OR_RETURN(created, DriverProduct::create(library, product, operands, kWorkspaceBytes,
                                                       *choices, tried ? &*tried : nullptr));
  }
  return created.get();
}

absl::Status DriverStream::multiply(const proto::CudaProduct &product,
                                    const ProductOperands &operands) {
  ST_ASSIGN_OR_RETURN(DriverProduct * known, getProduct(product, operands, /*trial=*/nullptr));
  return known->run(operands, workspace, stream);
}

absl::Status DriverStream::prepare(const proto::CudaAttention &attention, GpuTrial &trial) {
  ST_RETURN_IF_ERROR(device.enter());
  if (!cudnn) {
    ST_ASSIGN_OR_RETURN(cudnn, CudnnHandle::create(stream));
  }
  const std::string key = DriverAttention::key(attention);
  auto known = plans.find(key);
  const bool isNew = known == plans.end();
  if (isNew)
    known =
        plans.emplace(key, DriverAttention::create(*cudnn, attention, kMaxAttentionBytes)).first;
  ST_RETURN_IF_ERROR(known->second.status());
  // Plans contain no addresses; an outgrown workspace is freed with the device.
  if (const int64_t bytes = (*known->second)->workspaceBytes(); bytes > attentionBytes) {
    ST_ASSIGN_OR_RETURN(attentionWorkspace, device.allocate(bytes));
    attentionBytes = bytes;
  }
  if (isNew) {
    absl::Status tried =
        tryAttention(**known->second, attention, trial, device, *this, attentionWorkspace);
    if (!tried.ok())
      known->second = tried;
    ST_RETURN_IF_ERROR(tried);
  }
  attentions[&attention] = known->second->get();
  return absl::OkStatus();
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

absl::StatusOr<Mark> DriverStream::record(bool isTimed) {
  ST_RETURN_IF_ERROR(device.enter());
  ST_ASSIGN_OR_RETURN(Handle event, device.takeEvent(isTimed));
  auto mark = std::make_shared<DriverMark>(device, event, isTimed);
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

absl::StatusOr<std::unique_ptr<GpuStream>> createDriverStream(DriverDevice &device) {
  ST_RETURN_IF_ERROR(device.enter());
  Handle stream = nullptr;
  ST_RETURN_IF_ERROR(device.driver.check(device.driver.createStream(&stream, kStreamNonBlocking),
                                         "creating a stream"));
  return std::make_unique<DriverStream>(device, stream);
}

} // namespace st::cuda

// GPUs through NVIDIA's driver.
#ifndef ST_BACKENDS_CUDA_RUNTIME_DRIVER_DRIVERDEVICE_H
#define ST_BACKENDS_CUDA_RUNTIME_DRIVER_DRIVERDEVICE_H

#include "backends/cuda/runtime/GpuDevice.h"
#include "backends/cuda/runtime/communication/NcclGroup.h"
#include "backends/cuda/runtime/driver/ProductChoices.h"
#include "backends/cuda/runtime/libraries/DriverLibraries.h"
#include "lib/Support/StatusMacros.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace st::cuda {

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

  /// Lets copies go from the other one to this one without a detour, where that can be.
  void reach(const DriverDevice &other);

  absl::StatusOr<Address> allocate(int64_t bytes) override;
  void release(Address memory) override;
  absl::Status write(Address to, absl::Span<const uint8_t> bytes) override;
  absl::Status read(Address from, absl::Span<uint8_t> bytes) override;
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

  absl::StatusOr<double> secondsBetween(const GpuMark &begin, const GpuMark &end) const override;

  /// An event, new or used before, and its return.
  absl::StatusOr<Handle> takeEvent(bool isTimed);
  void returnEvent(Handle event, bool isTimed) {
    std::lock_guard<std::mutex> lock(mutex);
    events[isTimed].push_back(event);
  }

  /// Of cuBLASLt for this GPU, which is looked for now.
  absl::StatusOr<ProductChoices *> getChoices();
  void keepChoices() override {
    if (productChoices)
      productChoices->save();
  }
  std::string choices() const override { return productChoices ? productChoices->used() : ""; }
  bool adoptChoices(const std::string &other) override {
    return productChoices && productChoices->adopt(other);
  }

  /// Whether rows that are so many bytes apart are copied by one command.
  bool canCopyRows(int64_t pitch) const { return !copiesOneByOne && pitch <= maxPitch; }
  /// The driver has refused to: says so, and from now on rows are copied one by one.
  void copyOneByOne(const absl::Status &refused);

  const Driver &driver;
  std::vector<Kernel> kernels;

private:
  absl::StatusOr<std::vector<const proto::CudaImage *>>
  chooseImages(const proto::CudaCode &code) const;
  absl::Status loadImage(const proto::CudaImage &image);
  /// Pieces of bytes through pinned memory, of which one is filled or emptied while another is on
  /// its way. `begin` and `end` do that with a piece.
  template <class Begin, class End> absl::Status stage(size_t bytes, Begin begin, End end);
  absl::Status openStagingStream();

  DeviceNumber number;
  Handle context = nullptr, module = nullptr;
  int64_t maxPitch = 0;
  std::atomic<bool> copiesOneByOne{false};

  std::mutex staging; ///< of what follows
  Handle stagingStream = nullptr;
  struct {
    void *memory = nullptr;
    Handle event = nullptr;
  } halves[2];

  std::mutex mutex;                               ///< of what follows
  std::shared_ptr<ProductChoices> productChoices; // of all GPUs of a kind
  std::vector<DevicePointer> allocations;
  std::vector<Handle> events[2]; // that nobody uses, without and with a time
};

class DriverMark : public GpuMark {
public:
  DriverMark(DriverDevice &device, Handle event, bool isTimed)
      : event(event), device(device), isTimed(isTimed) {}
  ~DriverMark() override { device.returnEvent(event, isTimed); }

  absl::StatusOr<bool> isReached() override;

  const Handle event;

private:
  DriverDevice &device;
  bool isTimed;
};

/// Streams of a device end before it.
absl::StatusOr<std::unique_ptr<GpuStream>> createDriverStream(DriverDevice &device);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_DRIVER_DRIVERDEVICE_H

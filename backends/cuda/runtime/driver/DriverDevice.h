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
  unsigned blocks = 0, threads = 0, sharedBytes = 0;
};

class DriverDevice : public GpuDevice {
public:
  DriverDevice(const Driver &driver, DeviceNumber number) : driver(driver), number(number) {}
  ~DriverDevice() override;

  absl::Status load(const proto::CudaCode &code);
  /// Contexts are per thread.
  absl::Status enter() const { return driver.check(driver.setContext(context), "entering a GPU"); }

  /// Enables direct copies from the other device to this one where possible.
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

  /// Takes an event from the pool, or creates one if the pool is empty. returnEvent() puts it back.
  absl::StatusOr<Handle> takeEvent(bool isTimed);
  void returnEvent(Handle event, bool isTimed) {
    std::lock_guard<std::mutex> lock(mutex);
    events[isTimed].push_back(event);
  }

  /// The choices of cuBLASLt for this GPU; loads cuBLASLt on first use.
  absl::StatusOr<ProductChoices *> getChoices();
  void keepChoices() override {
    if (productChoices)
      productChoices->save();
  }
  std::string choices() const override { return productChoices ? productChoices->used() : ""; }
  bool adoptChoices(const std::string &other) override {
    return productChoices && productChoices->adopt(other);
  }

  /// Returns true if one command can copy rows that are `pitch` bytes apart.
  bool canCopyRows(int64_t pitch) const { return !copiesOneByOne && pitch <= maxPitch; }
  /// Call if the driver has refused such a copy. Reports this, and copies rows one by one from now
  /// on.
  void copyOneByOne(const absl::Status &refused);

  const Driver &driver;
  std::vector<Kernel> kernels;

private:
  absl::StatusOr<std::vector<const proto::CudaImage *>>
  chooseImages(const proto::CudaCode &code) const;
  absl::Status loadImage(const proto::CudaImage &image);
  /// Moves bytes through pinned memory in pieces; one piece is filled or emptied while another is
  /// in transit. `begin` and `end` process a piece.
  template <class Begin, class End> absl::Status stage(size_t bytes, Begin begin, End end);
  absl::Status openStagingStream();

  DeviceNumber number;
  Handle context = nullptr, module = nullptr;
  int64_t maxPitch = 0;
  std::atomic<bool> copiesOneByOne{false};

  std::mutex staging; ///< guards the following fields
  Handle stagingStream = nullptr;
  struct {
    void *memory = nullptr;
    Handle event = nullptr;
  } halves[2];

  std::mutex mutex;                               ///< guards the following fields
  std::shared_ptr<ProductChoices> productChoices; // shared by all GPUs of one kind
  std::vector<DevicePointer> allocations;
  std::vector<Handle> events[2]; // unused ones, without and with timing
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

/// Streams must be destroyed before their device.
absl::StatusOr<std::unique_ptr<GpuStream>> createDriverStream(DriverDevice &device);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_DRIVER_DRIVERDEVICE_H

// GPUs of the driver's stand-in, with a kernel that adds 1 to a number.
#ifndef ST_TEST_UNIT_CUDA_DRIVER_STANDINGPUS_H
#define ST_TEST_UNIT_CUDA_DRIVER_STANDINGPUS_H

#include "backends/cuda/runtime/driver/DriverDevice.h"
#include "test/standins/Faults.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace st::cuda {

/// A GPU with the kernel `increase` as kernel 0, whose launches ask for shared memory.
inline absl::StatusOr<std::unique_ptr<GpuDevice>> tryGpu(int64_t number, int64_t sharedBytes) {
  const std::string table = testing::TempDir() + "st-driver-unit-tests-kernels";
  std::ofstream(table) << "increase 1 32 " << sharedBytes << " 4:4\n";
  ::setenv("ST_STANDIN_GPUS", "8", 1);
  ::setenv("ST_STANDIN_KERNELS", table.c_str(), 1);
  ::setenv("ST_STANDIN_SEED", "1", 1);
  std::ifstream file(ST_TEST_KERNELS, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  proto::CudaCode code;
  proto::CudaImage &image = *code.add_images();
  image.set_kind(proto::CudaImage::CUBIN);
  image.set_chip("sm_90");
  image.set_data(bytes.str());
  proto::CudaKernel &kernel = *code.add_kernels();
  kernel.set_name("increase");
  kernel.set_blocks(1);
  kernel.set_threads(32);
  kernel.set_shared_bytes(sharedBytes);
  return createDriverDevice(code, number);
}

/// A GPU lost in one test is lost for later ones, so each such test uses a separate number.
inline std::unique_ptr<GpuDevice> openGpu(int64_t number = 0, int64_t sharedBytes = 0) {
  absl::StatusOr<std::unique_ptr<GpuDevice>> device = tryGpu(number, sharedBytes);
  EXPECT_TRUE(device.ok()) << device.status().message();
  return device.ok() ? *std::move(device) : nullptr;
}

inline const Driver &driverOf(GpuDevice &device) {
  return static_cast<DriverDevice &>(device).driver;
}

inline std::vector<uint8_t> readBytes(GpuDevice &device, Address from, size_t count) {
  std::vector<uint8_t> bytes(count);
  EXPECT_TRUE(device.read(from, absl::MakeSpan(bytes)).ok());
  return bytes;
}

} // namespace st::cuda

#endif // ST_TEST_UNIT_CUDA_DRIVER_STANDINGPUS_H

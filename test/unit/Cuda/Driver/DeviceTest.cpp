// The runtime's calls of the driver, and its reactions to errors.
#include "test/unit/Cuda/Driver/StandinGpus.h"

#include "absl/strings/match.h"

namespace st::cuda {
namespace {

// Work of the legacy stream is late in the stand-in: it would clear memory after a write.
TEST(DriverDevice, MemoryIsClearedBeforeAnybodyHasIt) {
  std::unique_ptr<GpuDevice> device = openGpu();
  absl::StatusOr<Address> memory = device->allocate(1000);
  ASSERT_TRUE(memory.ok());
  const std::vector<uint8_t> ones(1000, 1);
  ASSERT_TRUE(device->write(*memory, ones).ok());
  ASSERT_EQ(driverOf(*device).synchronize(nullptr), 0);
  EXPECT_EQ(readBytes(*device, *memory, ones.size()), ones);
}

// cuMemcpy2DAsync may fail for pitches that cuMemAllocPitch has not chosen.
TEST(DriverDevice, RowsThatTheDriverRefusesAreCopiedOneByOne) {
  std::unique_ptr<GpuDevice> device = openGpu();
  const Address from = *device->allocate(64), to = *device->allocate(64);
  std::vector<uint8_t> bytes(64), expected(64, 0);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i + 1);
  for (size_t row = 0; row < 3; ++row)
    for (size_t i = 0; i < 5; ++i)
      expected[20 * row + i] = bytes[8 * row + i];
  ASSERT_TRUE(device->write(from, bytes).ok());
  std::unique_ptr<GpuStream> stream = *device->createStream();
  standin::planFailures("cuMemcpy2DAsync_v2:all:1");
  testing::internal::CaptureStderr();
  ASSERT_TRUE(stream->copy(to, 20, from, 8, {5, 3}).ok());
  ASSERT_TRUE(stream->copy(to, 20, from, 8, {5, 3}).ok());
  ASSERT_TRUE(stream->wait().ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "GPU 0 copies rows one by one: a copy of rows 8 and 20 bytes apart failed: invalid "
            "argument (1)\n");
  standin::planFailures("");
  EXPECT_EQ(readBytes(*device, to, 64), expected);
}

TEST(DriverDevice, AFailedKernelIsToldLaterAndByAll) {
  std::unique_ptr<GpuDevice> device = openGpu(3);
  const Address number = *device->allocate(4);
  std::unique_ptr<GpuStream> stream = *device->createStream(), other = *device->createStream();
  standin::planFailures("increase:2:700");
  ASSERT_TRUE(stream->launch(0, {number}).ok());
  ASSERT_TRUE(stream->wait().ok());
  ASSERT_TRUE(stream->launch(0, {number}).ok());
  EXPECT_TRUE(absl::StrContains(stream->wait().message(),
                                "an illegal memory access was encountered (700)"));
  EXPECT_TRUE(absl::StrContains(other->launch(0, {number}).message(), "(700)"));
  EXPECT_TRUE(absl::StrContains(device->allocate(4).status().message(), "(700)"));
  standin::planFailures("");
}

// A launch may request more than 48 KiB if its kernel was configured for it.
TEST(DriverDevice, ALaunchAsksForSharedMemory) {
  std::unique_ptr<GpuDevice> device = openGpu(0, 100000);
  const Address number = *device->allocate(4);
  std::unique_ptr<GpuStream> stream = *device->createStream();
  ASSERT_TRUE(stream->launch(0, {number}).ok());
  ASSERT_TRUE(stream->wait().ok());
  EXPECT_EQ(readBytes(*device, number, 4), (std::vector<uint8_t>{1, 0, 0, 0}));
  standin::planFailures("cuFuncSetAttribute:1:1");
  EXPECT_TRUE(
      absl::StrContains(tryGpu(0, 100000).status().message(),
                        "setting the shared memory of a kernel failed: invalid argument (1)"));
  standin::planFailures("");
}

TEST(DriverDevice, ACaptureThatFailsLeavesItsStreamInUse) {
  std::unique_ptr<GpuDevice> device = openGpu();
  const Address number = *device->allocate(4);
  std::unique_ptr<GpuStream> stream = *device->createStream();
  for (const char *call : {"cuStreamEndCapture:1:901", "cuGraphInstantiateWithFlags:1:2"}) {
    standin::planFailures(call);
    ASSERT_TRUE(stream->beginRecording().ok());
    ASSERT_TRUE(stream->launch(0, {number}).ok());
    EXPECT_FALSE(stream->endRecording().ok()) << call;
    standin::planFailures("");
    ASSERT_TRUE(stream->launch(0, {number}).ok());
    ASSERT_TRUE(stream->wait().ok());
  }
  // Captured work was not executed.
  EXPECT_EQ(readBytes(*device, number, 1)[0], 2);
}

} // namespace
} // namespace st::cuda

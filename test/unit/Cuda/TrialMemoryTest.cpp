#include "backends/cuda/runtime/trial/TrialMemory.h"

#include "gtest/gtest.h"

#include <cmath>
#include <vector>

namespace st::cuda {
namespace {

TEST(TrialMemory, KeepsWhatOverlapsAndHowItIsAligned) {
  std::unique_ptr<GpuDevice> device = createHostDevice(proto::CudaCode()).value();
  TrialMemory memory(*device);
  memory.add(1040, 100);
  memory.add(5000, 8);
  memory.add(1100, 400);
  memory.add(1000, 50);
  ASSERT_TRUE(memory.allocate(proto::BF16).ok());
  EXPECT_EQ(memory.translate(1499) - memory.translate(1000), 499u);
  EXPECT_EQ(memory.translate(1040) % 256, 1040u % 256);
  EXPECT_EQ(memory.translate(5000) % 256, 5000u % 256);
  const Address apart = memory.translate(5000);
  EXPECT_TRUE(apart + 8 <= memory.translate(1000) || apart > memory.translate(1499));
}

TEST(TrialMemory, HoldsNumbersThatAreFiniteInAnyType) {
  std::unique_ptr<GpuDevice> device = createHostDevice(proto::CudaCode()).value();
  for (proto::ElementType half : {proto::F16, proto::BF16}) {
    TrialMemory memory(*device);
    constexpr int64_t count = 1 << 20;
    memory.add(256, count * 4);
    ASSERT_TRUE(memory.allocate(half).ok());
    std::vector<float> numbers(count);
    ASSERT_TRUE(device
                    ->read(memory.translate(256),
                           {reinterpret_cast<uint8_t *>(numbers.data()), numbers.size() * 4})
                    .ok());
    float largest = 0;
    for (float number : numbers) {
      ASSERT_TRUE(std::isfinite(number));
      largest = std::max(largest, std::abs(number));
    }
    EXPECT_GT(largest, 0);
    EXPECT_LE(largest, 2);
  }
}

} // namespace
} // namespace st::cuda

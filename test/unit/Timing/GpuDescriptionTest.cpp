#include "lib/Timing/GpuDescription.h"

#include <gtest/gtest.h>

namespace st {
namespace {

TEST(GpuDescription, EveryShippedFileLoads) {
  std::vector<std::string> names = builtinGpuDescriptionNames();
  EXPECT_EQ(names,
            (std::vector<std::string>{"cuda-host", "cuda-sm_80", "cuda-sm_90-h200", "cuda-sm_90"}));
  for (const std::string &name : names) {
    absl::StatusOr<proto::GpuDescription> description = builtinGpuDescription(name);
    ASSERT_TRUE(description.ok()) << description.status();
    EXPECT_EQ(description->name(), name);
    // The other cards of a chip append to its name.
    EXPECT_EQ(name.find("cuda-" + description->chip()), 0U);
  }
  EXPECT_EQ(
      builtinGpuDescription("dtu-t10").status().message(),
      "no GPU description 'dtu-t10'; there are cuda-host, cuda-sm_80, cuda-sm_90-h200, cuda-sm_90");
}

TEST(GpuDescription, NamesSayWhatIsAGpu) {
  EXPECT_TRUE(isGpuName("cuda-sm_90"));
  EXPECT_TRUE(isGpuName("folder/cuda-mine.textproto"));
  EXPECT_FALSE(isGpuName("cuda-folder/dtu-t10.textproto"));
  EXPECT_FALSE(isGpuName("dtu-t10"));
}

TEST(GpuDescription, ErrorsNameFileAndField) {
  EXPECT_EQ(parseGpuDescription("name: \"x\"", "cuda-x.textproto").status().message(),
            "cuda-x.textproto: chip: expected a chip such as sm_90, or host, found ''");
  proto::GpuDescription gpu = *builtinGpuDescription("cuda-sm_90");
  gpu.clear_l2_bytes();
  EXPECT_EQ(checkGpuDescription(gpu).message(), "l2_bytes: is missing");
  gpu = *builtinGpuDescription("cuda-sm_90");
  gpu.mutable_f32_tflops()->set_source("guess");
  EXPECT_EQ(checkGpuDescription(gpu).message(),
            "f32_tflops: source must begin with 'v', 'd', 'r' or 'a' and a colon, found 'guess'");
  gpu = *builtinGpuDescription("cuda-sm_90");
  gpu.set_max_nodes(1);
  gpu.clear_network_gbytes_per_second();
  EXPECT_TRUE(checkGpuDescription(gpu).ok());
  EXPECT_TRUE(checkGpuId(gpu, 7).ok());
  EXPECT_EQ(checkGpuId(gpu, 8).message(), "device id 8 is not one of the 8 GPUs of cuda-sm_90");
}

} // namespace
} // namespace st

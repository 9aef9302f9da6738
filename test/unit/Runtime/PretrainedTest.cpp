#include "lib/Runtime/State/Pretrained.h"
#include "ToyProgram.h"
#include "lib/Support/Float16.h"

#include "absl/strings/match.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace st {
namespace {

// The toy's "w" f32[8,12] as `to` in the program and as `from` in a folder.
class PretrainedTest : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "/pretrained";
    ::mkdir(folder.c_str(), 0777);
    for (int i = 0; i < 96; ++i)
      values.push_back(static_cast<float>(i - 40) * 0.37f + 1e-3f * static_cast<float>(i % 7));
  }

  template <typename T> std::vector<uint8_t> bytesAs() const {
    std::vector<uint8_t> bytes;
    for (float value : values) {
      T converted(value);
      const auto *raw = reinterpret_cast<const uint8_t *>(&converted);
      bytes.insert(bytes.end(), raw, raw + sizeof(T));
    }
    return bytes;
  }

  void write(ElementType type, const std::vector<uint8_t> &bytes) const {
    SafetensorsTensor tensor;
    tensor.name = "w";
    tensor.type = type;
    tensor.shape = {8, 12};
    tensor.data = bytes;
    ASSERT_TRUE(writeSafetensors(folder + "/model.safetensors", {tensor}).ok());
  }

  // Rank 1's part of two, the lower rows, in the program's type.
  std::vector<uint8_t> load(proto::ElementType element, int64_t width) const {
    proto::Executable program = makeToyProgram(2, 1);
    program.mutable_groups(0)->mutable_states(0)->mutable_global()->set_element(element);
    ToyExecutable executable(program, 0);
    std::vector<StateTensor> states = *collectStates(program);
    auto weights = PretrainedWeights::open(folder, program, states);
    EXPECT_TRUE(weights.ok()) << weights.status();
    EXPECT_TRUE((*weights)->apply(executable).ok());
    EXPECT_TRUE(absl::StrContains((*weights)->note(), "so initialised: b"));
    std::vector<uint8_t> found(48 * width);
    EXPECT_TRUE(executable.arena(1)
                    ->read(program.groups(0).states(0).offset(), absl::MakeSpan(found))
                    .ok());
    return found;
  }

  template <typename T> std::vector<uint8_t> lowerRows() const {
    std::vector<uint8_t> all = bytesAs<T>();
    return {all.begin() + 48 * sizeof(T), all.end()};
  }

  std::string folder;
  std::vector<float> values;
};

TEST_F(PretrainedTest, NarrowsOnce) {
  for (auto [type, bytes] : {std::pair(ElementType::F32, bytesAs<float>()),
                             std::pair(ElementType::F64, bytesAs<double>())}) {
    write(type, bytes);
    EXPECT_EQ(load(proto::F32, 4), lowerRows<float>());
    EXPECT_EQ(load(proto::BF16, 2), lowerRows<BFloat16>());
    EXPECT_EQ(load(proto::F16, 2), lowerRows<Float16>());
  }
}

TEST_F(PretrainedTest, KeepsTheBitsOfItsOwnType) {
  std::vector<uint8_t> bytes = bytesAs<BFloat16>();
  bytes[96] = 0x81; // A signalling NaN.
  bytes[97] = 0x7F;
  write(ElementType::BF16, bytes);
  EXPECT_EQ(load(proto::BF16, 2), std::vector<uint8_t>(bytes.begin() + 96, bytes.end()));
}

TEST_F(PretrainedTest, Widens) {
  write(ElementType::BF16, bytesAs<BFloat16>());
  std::vector<uint8_t> found = load(proto::F32, 4);
  for (int i = 0; i < 48; ++i) {
    float value;
    std::memcpy(&value, found.data() + i * sizeof(value), sizeof(value));
    EXPECT_EQ(value, static_cast<float>(BFloat16(values[48 + i])));
  }
}

TEST_F(PretrainedTest, RefusesAnotherShape) {
  write(ElementType::F32, bytesAs<float>());
  proto::Executable program = makeToyProgram(1, 1);
  program.mutable_groups(0)->mutable_states(0)->mutable_global()->set_shape(0, 4);
  auto weights = PretrainedWeights::open(folder, program, *collectStates(program));
  EXPECT_EQ(std::string(weights.status().message()),
            folder + "/model.safetensors: tensor 'w' is f32[8,12], "
                     "parameter \"w\" is f32[4,12]");
}

} // namespace
} // namespace st

#include "lib/Support/Safetensors.h"

#include "absl/strings/str_cat.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace st {
namespace {

using ::testing::Test;

class SafetensorsTest : public Test {
protected:
  void SetUp() override {
    path = absl::StrCat(::testing::TempDir(), "/",
                        ::testing::UnitTest::GetInstance()->current_test_info()->name(),
                        ".safetensors");
  }
  void TearDown() override { std::filesystem::remove(path); }

  // Writes a file with this header and `dataBytes` zero bytes.
  void writeRaw(const std::string &header, size_t dataBytes) {
    uint64_t length = header.size();
    std::string bytes(reinterpret_cast<const char *>(&length), sizeof length);
    std::ofstream(path, std::ios::binary) << bytes << header << std::string(dataBytes, '\0');
  }

  // The error of opening such a file, without the leading "PATH: ".
  std::string errorOf(const std::string &header, size_t dataBytes) {
    writeRaw(header, dataBytes);
    return openError();
  }

  std::string openError() {
    std::string message(SafetensorsReader::open(path).status().message());
    EXPECT_EQ(message.rfind(path + ": ", 0), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message.substr(std::min(message.size(), path.size() + 2));
  }

  static std::string entry(const std::string &name, const std::string &shape,
                           const std::string &offsets, const std::string &dtype = "F32") {
    return absl::StrCat("\"", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape,
                        ",\"data_offsets\":", offsets, "}");
  }

  std::string path;
};

TEST_F(SafetensorsTest, RoundTrip) {
  const float matrix[6] = {1, 2, 3, 4, 5, 6};
  const uint8_t flag[1] = {1};
  std::vector<SafetensorsTensor> tensors = {
      {{"m \"ü\"\n", ElementType::F32, {2, 3}},
       {reinterpret_cast<const uint8_t *>(matrix), sizeof matrix}},
      {{"flag", ElementType::BOOL, {}}, flag},
      {{"empty", ElementType::I64, {0, 4}}, {}}};
  ASSERT_TRUE(writeSafetensors(path, tensors, {{"format", "pt"}, {"k\\", "\x01"}}).ok());

  auto reader = SafetensorsReader::open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->tensors().size(), 3u);
  EXPECT_EQ((*reader)->metadata(), (SafetensorsMetadata{{"format", "pt"}, {"k\\", "\x01"}}));
  for (const SafetensorsTensor &tensor : tensors) {
    const SafetensorsTensor *found = (*reader)->find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->type, tensor.type);
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_EQ(found->data, tensor.data);
  }
  EXPECT_EQ((*reader)->find("other"), nullptr);
  // Data start at a multiple of eight bytes.
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*reader)->find("m \"ü\"\n")->data.data()) % 8, 0u);
}

TEST_F(SafetensorsTest, WriterChecksSizes) {
  SafetensorsSpec spec{"x", ElementType::F32, {2}};
  const uint8_t bytes[12] = {};
  auto writer = SafetensorsWriter::create(path, {spec});
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE((*writer)->append({bytes, 4}).ok());
  EXPECT_FALSE((*writer)->commit().ok());
  EXPECT_FALSE((*writer)->append({bytes, 8}).ok());
  EXPECT_TRUE((*writer)->append({bytes, 4}).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE((*writer)->commit().ok());
  EXPECT_TRUE(SafetensorsReader::open(path).ok());

  EXPECT_EQ(writeSafetensors(path, {{spec, {bytes, 4}}}).message(),
            path + ": tensor 'x': 4 bytes given, 8 expected");
  EXPECT_EQ(SafetensorsWriter::create(path, {spec, spec}).status().message(),
            path + ": tensor 'x': an earlier tensor has this name");
}

TEST_F(SafetensorsTest, HostileOffsets) {
  EXPECT_EQ(errorOf("{" + entry("x", "[2]", "[0,8]") + "}", 4),
            "tensor 'x': data_offsets [0, 8] are not within the 4 bytes of data");
  EXPECT_EQ(errorOf("{" + entry("x", "[2]", "[8,0]") + "}", 8),
            "tensor 'x': data_offsets [8, 0] are not within the 8 bytes of data");
  EXPECT_EQ(errorOf("{" + entry("x", "[3]", "[0,8]") + "}", 8),
            "tensor 'x': data_offsets [0, 8] hold 8 bytes, dtype and shape need 12");
  EXPECT_EQ(errorOf("{" + entry("x", "[4611686018427387904]", "[0,0]") + "}", 0),
            "tensor 'x': the shape's size overflows");
  EXPECT_EQ(errorOf("{" + entry("x", "[2]", "[0,8]") + "," + entry("y", "[2]", "[4,12]") + "}", 12),
            "tensor 'y': data_offsets [4, 12] overlap the previous tensor's");
  EXPECT_EQ(errorOf("{" + entry("x", "[1]", "[4,8]") + "}", 8),
            "tensor 'x': data_offsets [4, 8] leave a gap before them");
  EXPECT_EQ(errorOf("{" + entry("x", "[1]", "[0,4]") + "}", 8),
            "the tensors take 4 of 8 bytes of data");
}

TEST_F(SafetensorsTest, HostileHeader) {
  EXPECT_EQ(errorOf("{" + entry("x", "[1]", "[0,4]") + "," + entry("x", "[1]", "[4,8]") + "}", 8),
            "tensor 'x' appears twice");
  EXPECT_EQ(errorOf("{" + entry("x", "[1]", "[0,4]", "F8") + "}", 4),
            "tensor 'x': unknown dtype 'F8'");
  EXPECT_EQ(errorOf("{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4),
            "tensor 'x': dtype, shape and data_offsets are not all given");
  EXPECT_EQ(errorOf("{\"x\":{\"oops\":1}}", 4), "tensor 'x': unknown key 'oops'");
  EXPECT_EQ(errorOf("{" + entry("x", "[-1]", "[0,4]") + "}", 4),
            "tensor 'x': malformed header at byte 29: expected a non-negative integer");
  EXPECT_EQ(errorOf("{" + entry("x", "[99999999999999999999]", "[0,4]") + "}", 4),
            "tensor 'x': malformed header at byte 49: integer out of range");
  EXPECT_EQ(errorOf("{\"\\ud800\":", 0), "malformed header at byte 8: unpaired surrogate");
  EXPECT_EQ(errorOf("{\"\xff\":", 0), "malformed header at byte 4: string is not UTF-8");
  EXPECT_EQ(errorOf("{} x", 0), "malformed header at byte 3: text after the header's object");
  EXPECT_EQ(errorOf("{\"a\n", 0), "malformed header at byte 4: control character in a string");
  EXPECT_EQ(errorOf("{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", 0), "repeated metadata key 'a'");
}

TEST_F(SafetensorsTest, HostileLength) {
  std::ofstream(path) << "abc";
  EXPECT_EQ(openError(), "not a safetensors file: shorter than 8 bytes");
  std::ofstream(path) << std::string(16, '\x7f');
  EXPECT_EQ(openError(), "not a safetensors file or truncated: a header of 9187201950435737471 "
                         "bytes in a file of 16");
  std::filesystem::remove(path);
  EXPECT_EQ(openError(), "cannot read: No such file or directory");
}

// A truncated file or a flipped bit must not crash or cause a read past the end.
TEST_F(SafetensorsTest, DamagedFilesNeverCrash) {
  std::string header =
      "{\"__metadata__\":{\"a\":\"\\u00e9\\n\"}," + entry("x", "[1,2]", "[0,8]") + "}";
  writeRaw(header, 8);
  std::ifstream in(path, std::ios::binary);
  std::string whole{std::istreambuf_iterator<char>(in), {}};
  ASSERT_TRUE(SafetensorsReader::open(path).ok());
  for (size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, length);
    EXPECT_NE(openError(), "") << length;
  }
  for (size_t bit = 0; bit < (whole.size() - 8) * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    std::ofstream(path, std::ios::binary) << damaged;
    auto reader = SafetensorsReader::open(path);
    for (size_t i = 0; reader.ok() && i < (*reader)->tensors().size(); ++i)
      EXPECT_EQ((*reader)->tensors()[i].data.size(), 8u);
  }
}

} // namespace
} // namespace st

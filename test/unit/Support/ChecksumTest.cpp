#include "lib/Support/Checksum.h"

#include "absl/strings/string_view.h"

#include <gtest/gtest.h>
#include <string>

namespace st {
namespace {

// The definition: one bit at a time.
uint32_t slowCrc32(absl::string_view text) {
  uint32_t crc = ~0U;
  for (const char c : text) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

TEST(ChecksumTest, IsTheCrc32OfZlib) {
  EXPECT_EQ(crc32("123456789"), 0xCBF43926U); // the check value of the CRC-32 in the literature
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(crc32(text), slowCrc32(text)) << i;
    text += static_cast<char>(i * 37);
  }
}

TEST(ChecksumTest, ContinuesOverPieces) {
  const std::string text(100, 'x');
  for (size_t split = 0; split <= text.size(); ++split)
    EXPECT_EQ(crc32(text.substr(split), crc32(text.substr(0, split))), crc32(text)) << split;
  EXPECT_EQ(crc32(absl::string_view()), 0U);
}

} // namespace
} // namespace st

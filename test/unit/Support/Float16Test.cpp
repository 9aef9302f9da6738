#include "lib/Support/Float16.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace st {
namespace {

template <class T> T fromBits(uint16_t bits) {
  T value;
  value.bits = bits;
  return value;
}

template <class T> class Float16Test : public ::testing::Test {};
using Formats = ::testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(Float16Test, Formats);

// Every value converts to float and double and back to the same bits; a NaN stays a NaN.
TYPED_TEST(Float16Test, EveryValueSurvives) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    TypeParam value = fromBits<TypeParam>(static_cast<uint16_t>(bits));
    float wide = value;
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(wide)))) << bits;
      continue;
    }
    EXPECT_EQ(TypeParam(wide).bits, bits);
    EXPECT_EQ(TypeParam(static_cast<double>(wide)).bits, bits);
  }
}

// Between two adjacent values, the midpoint rounds to the even one and all others to the nearer
// one. Conversion from double does not round through float.
TYPED_TEST(Float16Test, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7000; ++bits) {
    TypeParam low = fromBits<TypeParam>(static_cast<uint16_t>(bits));
    TypeParam high = fromBits<TypeParam>(static_cast<uint16_t>(bits + 1));
    double a = low, b = high, middle = (a + b) / 2;
    EXPECT_EQ(TypeParam(middle).bits, bits % 2 == 0 ? bits : bits + 1);
    EXPECT_EQ(TypeParam(-middle).bits, (bits % 2 == 0 ? bits : bits + 1) | 0x8000);
    EXPECT_EQ(TypeParam(static_cast<float>(middle)).bits, bits % 2 == 0 ? bits : bits + 1);
    EXPECT_EQ(TypeParam(std::nextafter(middle, a)).bits, bits);
    EXPECT_EQ(TypeParam(std::nextafter(middle, b)).bits, bits + 1);
  }
}

TEST(Float16, Overflows) {
  EXPECT_EQ(Float16(65519.996f).bits, 0x7BFF);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7C00);
  EXPECT_EQ(Float16(-1e300).bits, 0xFC00);
  EXPECT_EQ(Float16(std::numeric_limits<double>::infinity()).bits, 0x7C00);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7F80);
  EXPECT_EQ(BFloat16(-1e300).bits, 0xFF80);
}

TEST(Float16, Underflows) {
  EXPECT_EQ(Float16(0x1p-25f).bits, 0);
  EXPECT_EQ(Float16(0x1.000002p-25f).bits, 1);
  EXPECT_EQ(Float16(-1e-300).bits, 0x8000);
  EXPECT_EQ(BFloat16(-1e-300).bits, 0x8000);
}

} // namespace
} // namespace st

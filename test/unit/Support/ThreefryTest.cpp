#include "lib/Support/Threefry.h"

#include <gtest/gtest.h>

namespace st {
namespace {

// The first two are test vectors of the authors' Random123 library.
TEST(Threefry, KnownAnswers) {
  ThreefryPair zero = threefry2x32({0, 0}, {0, 0});
  EXPECT_EQ(zero.x0, 0x6b200159u);
  EXPECT_EQ(zero.x1, 0x99ba4efeu);
  ThreefryPair pi = threefry2x32({0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3});
  EXPECT_EQ(pi.x0, 0xc4923a9cu);
  EXPECT_EQ(pi.x1, 0x483df7a0u);
}

// Printed by jax.random.bits(jax.random.key(0x23456789), (2, 3)) and fold_in(key, 7).
TEST(Threefry, MatchesJax) {
  ThreefryPair key = threefryKey(0x23456789);
  const uint32_t expected[] = {0x4cee6480, 0x58bc418c, 0x9ac8fe1f,
                               0xcd16634a, 0x24b02b04, 0x3a5a28df};
  for (uint64_t i = 0; i < 6; ++i)
    EXPECT_EQ(threefryBits(key, i), expected[i]) << i;
  ThreefryPair folded = threefryFoldIn(key, 7);
  EXPECT_EQ(folded.x0, 0x700b1d4eu);
  EXPECT_EQ(folded.x1, 0xebd4451cu);
}

} // namespace
} // namespace st

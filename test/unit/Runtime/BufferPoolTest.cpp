#include "lib/Runtime/Processes/BufferPool.h"

#include <cstring>
#include <gtest/gtest.h>

namespace st {
namespace {

TEST(BufferPoolTest, UsesReturnedBuffersAgain) {
  BufferPool &pool = BufferPool::get();
  BufferPool::Buffer first = pool.take(1000), other = pool.take(1000);
  const uint8_t *const address = first.get();
  EXPECT_NE(address, other.get());
  first.reset();
  EXPECT_EQ(pool.take(600).get(), address) << "513 to 1024 bytes share buffers";
  EXPECT_NE(pool.take(2000).get(), address);
}

TEST(BufferPoolTest, BuffersHaveTheirSize) {
  for (size_t size :
       {size_t(0), size_t(1), size_t(64), size_t(65), size_t(1) << 20, (size_t(1) << 26) + 1}) {
    for (int turn = 0; turn < 2; ++turn) {
      const BufferPool::Buffer buffer = BufferPool::get().take(size);
      ASSERT_TRUE(buffer);
      std::memset(buffer.get(), turn, size); // a sanitizer sees a buffer that is too small
    }
  }
}

} // namespace
} // namespace st

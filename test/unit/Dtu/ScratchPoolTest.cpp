// Memory that simulators share while their tasks run.
#include "backends/dtu/simulator/data/ScratchPool.h"

#include <gtest/gtest.h>

#include <utility>

namespace st::dtu {
namespace {

TEST(ScratchPool, HoldersShareMemory) {
  const std::shared_ptr<ScratchPool> first = ScratchPool::shared();
  const std::shared_ptr<ScratchPool> second = ScratchPool::shared();
  LazyMemory memory = first->take(12288);
  ASSERT_NE(memory.data, nullptr);
  uint8_t *const data = memory.data;
  first->release(std::move(memory));
  EXPECT_EQ(second->take(12288).data, data);
}

TEST(ScratchPool, MemoryInUseIsNotTakenAgain) {
  const std::shared_ptr<ScratchPool> pool = ScratchPool::shared();
  const LazyMemory one = pool->take(4096), two = pool->take(4096);
  EXPECT_NE(one.data, two.data);
}

TEST(ScratchPool, MemoryHasTheSizeThatIsAskedFor) {
  const std::shared_ptr<ScratchPool> pool = ScratchPool::shared();
  pool->release(pool->take(4096));
  const LazyMemory larger = pool->take(8192);
  EXPECT_EQ(larger.bytes, 8192);
}

TEST(ScratchPool, LastHolderFreesIt) {
  std::weak_ptr<ScratchPool> pool = ScratchPool::shared();
  EXPECT_TRUE(pool.expired());
}

} // namespace
} // namespace st::dtu

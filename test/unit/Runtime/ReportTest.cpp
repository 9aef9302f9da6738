#include "lib/Runtime/Report.h"

#include "gtest/gtest.h"

#include <initializer_list>

using namespace st;

namespace {

void addGroup(proto::Executable &program, std::initializer_list<int64_t> devices, int64_t bytes) {
  proto::Group &group = *program.add_groups();
  for (int64_t id : devices)
    group.add_device_ids(id);
  group.set_arena_bytes(bytes);
  proto::MemoryClass &memory = *group.add_memory();
  memory.set_name("activations");
  memory.set_bytes(bytes);
}

TEST(ReportTest, DevicesWithTheSameMemoryShareARow) {
  proto::Executable program;
  addGroup(program, {0, 1, 2, 5}, 3 << 20);
  addGroup(program, {3}, 1 << 20);
  addGroup(program, {7, 8}, 3 << 20);
  addGroup(program, {8}, 1 << 20); // a second rank
  EXPECT_EQ(printMemory(program), "peak memory of each device in MiB\n"
                                  "devices  ranks  activations  peak MiB\n"
                                  "0-2,5,7      1          3.0       3.0\n"
                                  "3            1          1.0       1.0\n"
                                  "8            2          4.0       4.0\n");
}

TEST(ReportTest, ManyDevicesAreNamedByTheFirstAndTheLast) {
  proto::Executable program;
  for (int64_t chip = 0; chip < 9; ++chip)
    addGroup(program, {5 * chip, 5 * chip + 1, 5 * chip + 2, 5 * chip + 3}, 1 << 20);
  EXPECT_EQ(printMemory(program), "peak memory of each device in MiB\n"
                                  "devices                       ranks  activations  peak MiB\n"
                                  "0-3,5-8,10-13,...,40-43 (36)      1          1.0       1.0\n");
}

} // namespace

#include "backends/cuda/runtime/commands/LeftByUpdate.h"

#include "gtest/gtest.h"

namespace st::cuda {
namespace {

/// A launch that reads bytes 100 to 199 and writes 1000 to 1049, in all steps or not, after a copy.
proto::CudaProgram programOf(bool leftByUpdate) {
  proto::CudaProgram program;
  program.add_commands()->mutable_copy();
  proto::CudaCommand &command = *program.add_commands();
  command.set_left_by_update(leftByUpdate);
  for (int64_t offset : {100, 1000})
    command.mutable_launch()->add_arguments()->set_offset(offset);
  return program;
}

std::vector<proto::CudaKernel> kernels() {
  proto::CudaKernel kernel;
  kernel.add_argument_bytes(100);
  kernel.add_argument_bytes(50);
  return {kernel};
}

TEST(LeftByUpdate, IsThereBehindAStepUntilItsBytesAreWritten) {
  LeftByUpdate left;
  left.add(programOf(true), kernels());
  EXPECT_FALSE(left.areValid());
  left.markValid();
  EXPECT_TRUE(left.areValid());
  for (auto [begin, end] : {std::pair(0, 100), {200, 1000}, {1050, 5000}}) {
    left.invalidateWritten(begin, end);
    EXPECT_TRUE(left.areValid()) << begin;
  }
  for (auto [begin, end] : {std::pair(0, 101), {199, 200}, {120, 130}, {1049, 1050}, {0, 5000}}) {
    left.markValid();
    left.invalidateWritten(begin, end);
    EXPECT_FALSE(left.areValid()) << begin;
  }
  left.markValid();
  left.invalidate();
  EXPECT_FALSE(left.areValid());
}

TEST(LeftByUpdate, TakesNoNoteOfOtherCommands) {
  LeftByUpdate left;
  left.add(programOf(false), kernels());
  left.markValid();
  left.invalidateWritten(0, 5000);
  EXPECT_TRUE(left.areValid());
}

} // namespace
} // namespace st::cuda

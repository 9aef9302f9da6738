// Hand-written programs of commands for GPUs, with costs that are easy to add up.
#include "lib/Driver/Prediction/GpuStep.h"
#include "lib/Timing/GpuDescription.h"

#include <gtest/gtest.h>

#include <functional>

namespace mlir::st {
namespace {

namespace proto = ::st::proto;

/// A microsecond per byte and per thousand operations, and 100 per collective.
class PlainCosts : public ::st::Costs {
public:
  ::st::OpTime op(const proto::OpWork &work) const override {
    return {0, std::max(work.flops() / 1000, work.read_bytes() + work.written_bytes())};
  }
  ::st::OpTime collective(absl::string_view kind, double bytes,
                          const ::st::GroupPlacement &placement) const override {
    return {0, (kind == "all_gather" ? 100 : 200) + bytes * placement.ranks};
  }
  double transfer(double bytes, bool crossesNodes, int /*sharers*/) const override {
    return crossesNodes ? 10 * bytes : bytes;
  }
  ::st::OpTime memoryPass(double bytes, double /*launches*/) const override { return {0, bytes}; }
  double peakFlops(proto::ElementType /*type*/) const override { return 1e9; }
  double fastestProduct(proto::ElementType /*type*/) const override { return 1e9; }
};

class GpuStepTest : public ::testing::Test {
protected:
  GpuStepTest() { program.mutable_cuda()->mutable_gpu()->set_gpus_per_node(8); }

  /// A kernel that moves a number of bytes and takes as many microseconds.
  int64_t addKernel(double bytes, double flops = 0) {
    proto::CudaKernel &kernel = *program.mutable_cuda()->add_kernels();
    kernel.set_bytes(bytes);
    kernel.set_product_flops(flops);
    kernel.set_product_type(proto::F32);
    return program.cuda().kernels_size() - 1;
  }

  /// A device group of one task, run once; the table of each rank has all ranks of the step.
  void addGroup(std::vector<int64_t> devices, int64_t ranks,
                const std::function<void(proto::CudaProgram &)> &fill) {
    proto::Group &group = *program.add_groups();
    group.set_first_rank(first);
    first += static_cast<int64_t>(devices.size());
    group.set_table_size(ranks);
    for (int64_t device : devices) {
      group.add_device_ids(device);
      for (int64_t rank = 0; rank < ranks; ++rank)
        group.add_rank_tables(rank);
    }
    proto::CudaProgram code;
    fill(code);
    group.add_tasks()->set_program(code.SerializeAsString());
    group.add_schedule()->set_task(0);
  }

  double total() {
    auto step = simulateGpuStep(program, costs);
    EXPECT_TRUE(step.ok()) << step.status();
    return step.ok() && *step ? (*step)->total : -1;
  }

  static void launch(proto::CudaCommand &command, int64_t kernel) {
    command.mutable_launch()->set_kernel(kernel);
  }

  proto::Executable program;
  int64_t first = 0;
  const PlainCosts costs;
};

TEST_F(GpuStepTest, StreamsOverlapUntilOneWaits) {
  const int64_t small = addKernel(10), large = addKernel(30);
  addGroup({0}, 1, [&](proto::CudaProgram &code) {
    launch(*code.add_commands(), small);
    proto::CudaCommand &aside = *code.add_commands();
    aside.set_aside(true);
    launch(aside, large);
    launch(*code.add_commands(), small);
    proto::CudaCommand &last = *code.add_commands();
    last.set_waits(true);
    launch(last, small);
  });
  EXPECT_DOUBLE_EQ(total(), 30 + 10);
}

TEST_F(GpuStepTest, LoopsAndProductsWithinKernels) {
  const int64_t products = addKernel(10, 50e3);
  addGroup({0}, 1, [&](proto::CudaProgram &code) {
    proto::CudaLoop &loop = *code.add_commands()->mutable_loop();
    loop.set_trips(4);
    launch(*loop.add_body(), products);
  });
  EXPECT_DOUBLE_EQ(total(), 4 * 50);
}

TEST_F(GpuStepTest, ProductsAndAttentionCountTheirOperations) {
  addGroup({0}, 1, [&](proto::CudaProgram &code) {
    proto::CudaProduct &product = *code.add_commands()->mutable_product();
    product.set_m(100);
    product.set_n(100);
    product.set_k(100);
    product.add_batch(3);
    proto::CudaAttention &attention = *code.add_commands()->mutable_attention();
    attention.set_batch(1);
    attention.set_heads(1);
    attention.set_rows(2000);
    attention.set_columns(1000);
    attention.set_depth(400);
    attention.set_width(600);
    attention.set_causal(true);
  });
  // The product is bound by its bytes: 4 per number.
  const double product = 3 * 4 * (100 * 100 * 3), attention = 2 * 2000e3 * 1000 / 2 / 1000;
  EXPECT_DOUBLE_EQ(total(), product + std::max(attention, 4.0 * 3000 * 1000));
}

TEST_F(GpuStepTest, ExchangesWaitForTheLastMember) {
  const int64_t kernel = addKernel(7);
  auto exchange = [](proto::CudaProgram &code, int64_t stride) {
    proto::CudaExchange &created = *code.add_commands()->mutable_exchange();
    created.set_bytes(5);
    created.set_from_stride(stride);
    created.set_count(2);
  };
  // Ranks of two groups meet, the second one late; then again without a wait.
  addGroup({0}, 2, [&](proto::CudaProgram &code) {
    exchange(code, 0);
    exchange(code, 5);
  });
  addGroup({1}, 2, [&](proto::CudaProgram &code) {
    launch(*code.add_commands(), kernel);
    exchange(code, 0);
    exchange(code, 5);
  });
  EXPECT_DOUBLE_EQ(total(), 7 + (100 + 10 * 2) + (200 + 10 * 2));
}

TEST_F(GpuStepTest, MessagesArriveAfterTheirTransferTime) {
  auto message = [](auto &message, int64_t peer) {
    message.set_bytes(5);
    message.set_peer(peer);
  };
  // A copy at either end, 2 x 5 bytes, and the transfer between nodes.
  addGroup({0}, 2,
           [&](proto::CudaProgram &code) { message(*code.add_commands()->mutable_send(), 1); });
  addGroup({8}, 2,
           [&](proto::CudaProgram &code) { message(*code.add_commands()->mutable_receive(), 0); });
  EXPECT_DOUBLE_EQ(total(), 10 + 50 + 10);
}

TEST_F(GpuStepTest, WorksAreThoseOfTheBusiestRankByName) {
  const int64_t small = addKernel(10), large = addKernel(30), products = addKernel(10, 50e3);
  for (auto [kernel, name] : {std::pair(small, "small"), {large, "large"}, {products, "attention"}})
    program.mutable_cuda()->mutable_kernels(static_cast<int>(kernel))->set_name(name);
  addGroup({0}, 2, [&](proto::CudaProgram &code) { launch(*code.add_commands(), large); });
  addGroup({1}, 2, [&](proto::CudaProgram &code) {
    launch(*code.add_commands(), small);
    proto::CudaLoop &loop = *code.add_commands()->mutable_loop();
    loop.set_trips(3);
    launch(*loop.add_body(), small);
    launch(*loop.add_body(), products);
    proto::CudaProduct &product = *code.add_commands()->mutable_product();
    product.set_m(10);
    product.set_n(20);
    product.set_k(40);
    product.set_type(proto::BF16);
    proto::CudaCopy &copy = *code.add_commands()->mutable_copy();
    copy.set_row_bytes(2);
    copy.set_rows(3);
  });
  auto step = simulateGpuStep(program, costs);
  ASSERT_TRUE(step.ok() && *step);
  struct Expected {
    const char *name;
    TimedCommand::Work kind;
    int64_t launches;
    double us, flops, moved;
  };
  // A product's bytes: operands of 16 bits, a result of 32.
  const std::vector<Expected> expected = {
      {"product 10 x 20 x 40 bf16", TimedCommand::Product, 1, 3200, 16e3, 3200},
      {"attention", TimedCommand::Attention, 3, 150, 150e3, 30},
      {"small", TimedCommand::Loop, 4, 40, 0, 40},
      {"copy", TimedCommand::Copy, 1, 12, 0, 12}};
  ASSERT_EQ((*step)->works.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const GpuStep::Work &work = (*step)->works[i];
    EXPECT_EQ(work.name, expected[i].name);
    EXPECT_EQ(work.kind, expected[i].kind) << work.name;
    EXPECT_EQ(work.launches, expected[i].launches) << work.name;
    EXPECT_DOUBLE_EQ(work.us, expected[i].us) << work.name;
    EXPECT_DOUBLE_EQ(work.flops, expected[i].flops) << work.name;
    EXPECT_DOUBLE_EQ(work.moved, expected[i].moved) << work.name;
  }
}

TEST_F(GpuStepTest, RanksThatWaitInVainAreAnError) {
  addGroup({0}, 2,
           [&](proto::CudaProgram &code) { code.add_commands()->mutable_receive()->set_peer(1); });
  addGroup({1}, 2, [](proto::CudaProgram &) {});
  EXPECT_EQ(simulateGpuStep(program, costs).status().message(),
            "rank 0 waits forever for another rank");
}

TEST_F(GpuStepTest, LoopsThatDependOnDataHaveNoTime) {
  addGroup({0}, 1, [&](proto::CudaProgram &code) {
    code.add_commands()->mutable_loop()->mutable_predicate();
  });
  auto step = simulateGpuStep(program, costs);
  ASSERT_TRUE(step.ok());
  EXPECT_FALSE(step->has_value());
}

/// Memory-bound work takes less time on an H200 than on an H100, by the ratio of their bandwidths.
TEST(GpuCostsOfDevices, MemoryOfAnH200IsFaster) {
  auto timeOn = [](const char *name) {
    auto gpu = describeGpu(*::st::builtinGpuDescription(name));
    EXPECT_TRUE(gpu.ok()) << gpu.status();
    return (*gpu)->costs->memoryPass(1e9, 0).device;
  };
  EXPECT_NEAR(timeOn("cuda-sm_90") / timeOn("cuda-sm_90-h200"), 4800.0 / 3350, 1e-9);
}

} // namespace
} // namespace mlir::st

#include "backends/cuda/codegen/executable/AssignStreams.h"

#include "gtest/gtest.h"

#include <string>

namespace mlir::cuda {
namespace {

namespace proto = ::st::proto;

/// Commands over an arena of values of 64 bytes, by their numbers.
class Program {
public:
  /// A kernel that reads one value and writes another.
  Program &kernel(int from, int to) {
    proto::CudaLaunch &launch = *program.add_commands()->mutable_launch();
    place(*launch.add_arguments(), from);
    place(*launch.add_arguments(), to);
    return *this;
  }
  Program &exchange(int from, int to) {
    proto::CudaExchange &exchange = *program.add_commands()->mutable_exchange();
    place(*exchange.mutable_from(), from);
    place(*exchange.mutable_to(), to);
    exchange.set_bytes(32);
    exchange.set_to_stride(32);
    exchange.set_count(2);
    return *this;
  }
  /// Packs into scratch memory, or unpacks from it.
  Program &copy(int from, int to, bool fromScratch, bool toScratch) {
    proto::CudaCopy &copy = *program.add_commands()->mutable_copy();
    place(*copy.mutable_from(), from);
    place(*copy.mutable_to(), to);
    copy.mutable_from()->set_scratch(fromScratch);
    copy.mutable_to()->set_scratch(toScratch);
    copy.set_row_bytes(64);
    copy.set_rows(1);
    return *this;
  }
  /// GELU of a product with its input stored, or its gradient from that input. Operands are two
  /// values from the first one.
  Program &gelu(int from, int to, int aux, bool isGradient) {
    proto::CudaProduct &product = *program.add_commands()->mutable_product();
    product.set_m(2), product.set_n(8), product.set_k(1);
    product.set_type(::st::proto::F32), product.set_d_type(::st::proto::F32);
    product.set_activation(isGradient ? proto::CudaProduct::GELU_GRADIENT
                                      : proto::CudaProduct::GELU);
    for (proto::CudaMatrix *matrix :
         {product.mutable_a_matrix(), product.mutable_b_matrix(), product.mutable_d_matrix()})
      matrix->set_row(8), matrix->set_column(1);
    place(*product.mutable_a(), from);
    place(*product.mutable_b(), from);
    place(*product.mutable_d(), to);
    place(*product.mutable_aux(), aux);
    return *this;
  }
  /// A product, and the sums of an operand.
  Program &sums(int from, int to, int sums) {
    gelu(from, to, sums, false);
    proto::CudaProduct &product =
        *program.mutable_commands(program.commands_size() - 1)->mutable_product();
    product.clear_activation();
    *product.mutable_sums() = product.aux();
    product.clear_aux();
    return *this;
  }
  Program &loopOf(Program body) {
    proto::CudaLoop &loop = *program.add_commands()->mutable_loop();
    loop.set_trips(2);
    *loop.mutable_body() = body.program.commands();
    return *this;
  }
  /// Gives the last command's first place two slots, one value apart.
  Program &inSlots() {
    proto::CudaPlace &first = *program.mutable_commands(program.commands_size() - 1)
                                   ->mutable_launch()
                                   ->mutable_arguments(0);
    first.set_slots(2);
    first.set_stride(64);
    return *this;
  }

  /// A letter per command: k for the stream of kernels, t for transfers; upper case: waits.
  std::string streams() {
    const KernelArgument arguments[] = {{64, true}, {64, false}};
    assignStreams(program, [&](int64_t) -> ArrayRef<KernelArgument> { return arguments; });
    std::string letters;
    for (const proto::CudaCommand &command : program.commands())
      letters += command.aside() ? command.waits() ? 'T' : 't' : command.waits() ? 'K' : 'k';
    return letters;
  }

private:
  static void place(proto::CudaPlace &place, int number) {
    place.set_offset(64 * number);
    place.set_slots(1);
  }

  proto::CudaProgram program;
};

TEST(AssignStreams, TransfersWithAnImmediateWaitStayWithTheKernels) {
  EXPECT_EQ(Program().kernel(0, 1).exchange(1, 2).kernel(2, 3).streams(), "kkk");
  EXPECT_EQ(Program().kernel(0, 1).exchange(1, 2).streams(), "kk");
  EXPECT_EQ(Program().streams(), "");
}

TEST(AssignStreams, AResultIsWaitedForWhereItIsRead) {
  EXPECT_EQ(Program().kernel(0, 1).exchange(1, 2).kernel(0, 3).kernel(2, 4).kernel(2, 5).streams(),
            "kTkKk");
}

TEST(AssignStreams, KernelsDoNotOverwriteSentBytes) {
  EXPECT_EQ(Program().exchange(1, 2).kernel(0, 3).kernel(0, 1).streams(), "TkK");
  // Reading is allowed.
  EXPECT_EQ(Program().exchange(1, 2).kernel(0, 3).kernel(1, 4).streams(), "Tkk");
}

TEST(AssignStreams, TransfersDoNotOverwriteBytesStillRead) {
  EXPECT_EQ(
      Program().exchange(1, 2).kernel(0, 3).kernel(5, 6).exchange(4, 5).kernel(0, 7).streams(),
      "TkkTk");
  EXPECT_EQ(
      Program().exchange(1, 2).kernel(0, 3).kernel(5, 6).exchange(4, 7).kernel(0, 8).streams(),
      "Tkktk");
}

TEST(AssignStreams, PackingGoesWithTheExchange) {
  EXPECT_EQ(Program()
                .kernel(0, 1)
                .copy(1, 0, false, true)
                .copy(0, 2, true, false)
                .kernel(0, 3)
                .kernel(2, 4)
                .streams(),
            "kTtkK");
}

TEST(AssignStreams, SlotsCountAllTogether) {
  EXPECT_EQ(Program().exchange(1, 3).kernel(0, 5).kernel(2, 6).inSlots().streams(), "TkK");
}

TEST(AssignStreams, AuxAndScratchOfAProductCount) {
  // Data that is sent or received.
  EXPECT_EQ(Program().exchange(1, 2).kernel(0, 3).gelu(0, 4, 5, false).streams(), "Tkk");
  EXPECT_EQ(Program().exchange(1, 2).kernel(0, 3).gelu(0, 4, 1, false).streams(), "TkK");
  EXPECT_EQ(Program().exchange(1, 2).kernel(0, 3).gelu(0, 4, 1, true).streams(), "Tkk");
  EXPECT_EQ(Program().exchange(1, 2).kernel(0, 3).gelu(0, 4, 2, true).streams(), "TkK");
  EXPECT_EQ(Program().exchange(1, 2).kernel(0, 3).sums(0, 4, 1).streams(), "TkK");
  EXPECT_EQ(Program().exchange(1, 2).kernel(0, 3).sums(0, 4, 5).streams(), "Tkk");
}

TEST(AssignStreams, LoopsStayWithTheKernels) {
  EXPECT_EQ(Program().kernel(0, 1).loopOf(Program().exchange(1, 2)).kernel(0, 3).streams(), "kkk");
  EXPECT_EQ(Program().exchange(1, 2).kernel(0, 3).loopOf(Program().kernel(2, 4)).streams(), "TkK");
}

} // namespace
} // namespace mlir::cuda

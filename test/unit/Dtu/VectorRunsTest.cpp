// Vector instructions in strips, compared with one instruction after another.
#include "SimulatorFixture.h"

#include "backends/dtu/isa/Names.h"
#include "backends/dtu/simulator/data/VectorRuns.h"

#include <random>

namespace st::dtu {
namespace {

constexpr int64_t kBytes = 65536;

struct Generator {
  std::mt19937 random;
  int64_t rows, cols;

  explicit Generator(uint32_t seed) : random(seed), rows(1 + below(9)), cols(2 + below(700)) {}
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  }

  /// A tile: one of a few separate ones, shifted a little into the next one, or the slot in r4.
  std::string tile(const char *type, int64_t width, bool mayBroadcast) {
    const int64_t apart = (rows * cols * 4 + 63) / 64 * 64;
    const int64_t places = std::max<int64_t>((kBytes - 128) / apart, 1);
    const int64_t at = std::min(below(places) * apart + (below(5) ? 0 : 4 * below(16)),
                                kBytes - rows * cols * width);
    int64_t row = cols, col = 1;
    if (mayBroadcast && below(4) == 0) {
      row = below(2) ? cols : 0;
      col = below(2) ? 1 : 0;
    }
    const int64_t slots = (kBytes - rows * cols * width - at) / apart;
    const std::string slot = below(2) && slots > 0 ? absl::StrCat("+", apart, "*r4") : "";
    return absl::StrCat(type, ":L1[", at / 4 * 4, slot, "]{", row, ",", col, "}");
  }

  std::string instruction() {
    struct Op {
      const char *name;
      int operands;
    };
    constexpr Op ops[] = {{"add", 2}, {"mul", 2},     {"max", 2},
                          {"neg", 1}, {"mul_add", 3}, {"abs", 1}};
    const Op op = ops[below(6)];
    auto type = [&] { return below(3) ? std::pair("f32", 4) : std::pair("bf16", 2); };
    auto [name, width] = type();
    std::string text = absl::StrCat("vector op=", op.name, " dst=", tile(name, width, false));
    for (int k = 0; k < op.operands; ++k)
      absl::StrAppend(&text, " ", std::string(1, "abc"[k]), "=", tile(name, width, true));
    return absl::StrCat(text, " rows=", rows, " cols=", cols, "\n");
  }
};

TEST(VectorRuns, LeaveWhatSingleInstructionsLeave) {
  int64_t inRuns = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Generator generator(seed);
    std::string text =
        absl::StrCat("index dst=r4 value=", generator.below(4), " divide=1 modulo=2\n");
    for (int64_t i = 0, count = 2 + generator.below(30); i < count; ++i)
      text += generator.instruction();
    Program program = coreProgram(text, kBytes);
    auto decoded = decodeProgram(program, hostKernels(HostIsa::Auto));
    for (const DecodedStream &stream : decoded->streams)
      for (uint8_t run : stream.runs)
        inRuns += run;
    std::vector<float> memory(kBytes / 4);
    for (float &value : memory)
      value = static_cast<float>(generator.below(2001) - 1000) / 1024.0f;
    std::vector<float> alone = memory;
    SimulatorOptions shuffled;
    shuffled.shuffleSeed = seed + 1; // a few instructions at a turn: most runs are cut
    absl::Status status = runOn(program, memory);
    absl::Status single = runOn(program, alone, shuffled);
    ASSERT_EQ(status, single);
    // Compares bits, since there are NaNs.
    ASSERT_EQ(std::memcmp(memory.data(), alone.data(), kBytes), 0) << text;
  }
  EXPECT_GT(inRuns, 1000);
}

} // namespace
} // namespace st::dtu

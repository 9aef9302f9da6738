// The binary and the text form: exact round trips, and no bytes that crash.
#include "RandomProgram.h"

#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/isa/Text.h"

#include <gtest/gtest.h>

namespace st::dtu {
namespace {

TEST(Encoding, RandomProgramsSurviveTheBinaryForm) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Program program = RandomFiller(seed).program();
    std::string bytes = encode(program);
    absl::StatusOr<Program> back = decode(bytes);
    ASSERT_TRUE(back.ok()) << back.status() << " seed " << seed;
    EXPECT_EQ(encode(*back), bytes);
    EXPECT_EQ(printProgram(*back), printProgram(program));
  }
}

TEST(Encoding, RandomProgramsSurviveTheTextForm) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Program program = RandomFiller(seed).program();
    std::string text = printProgram(program);
    absl::StatusOr<Program> back = parseProgram(text);
    ASSERT_TRUE(back.ok()) << back.status() << "\n" << text;
    EXPECT_EQ(encode(*back), encode(program)) << text;
  }
}

TEST(Encoding, EveryTruncationIsAnError) {
  std::string bytes = encode(RandomFiller(7).program());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode(absl::string_view(bytes).substr(0, length)).ok()) << length;
  EXPECT_FALSE(decode(bytes + '\0').ok());
}

TEST(Encoding, DamagedBytesGiveAnErrorOrAnotherProgram) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomFiller random(seed);
    std::string bytes = encode(random.program());
    for (int i = 0; i < 50; ++i) {
      std::string damaged = bytes;
      for (uint64_t n = 1 + random.below(3); n > 0; --n)
        damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
      if (absl::StatusOr<Program> program = decode(damaged); program.ok()) {
        EXPECT_EQ(encode(*program), damaged);
      }
    }
  }
}

TEST(Encoding, HugeCountsAreRefusedBeforeAnythingIsAllocated) {
  std::string bytes = "DTUP\x02";
  bytes += std::string("\x00", 1) + std::string(7, '\0') + "\xff\xff\xff\xff\xff\x7f";
  absl::StatusOr<Program> program = decode(bytes);
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.status().message().find("too many streams"), absl::string_view::npos)
      << program.status();
}

TEST(Encoding, TextErrorsNameTheLine) {
  auto error = [](const char *text) { return std::string(parseProgram(text).status().message()); };
  EXPECT_EQ(error("program \"p\" {\n  stream core {\n    matmul q=1\n"),
            "line 3: 'matmul' has no field 'q'");
  EXPECT_EQ(error("program \"p\" {\n  stream core {\n    nop\n"),
            "line 3: unknown instruction 'nop'");
  EXPECT_EQ(error("program \"p\" {\n  stream gpu {\n"), "line 2: unknown engine 'gpu'");
  EXPECT_EQ(error("program \"p\" {\n  stream core {\n    loop reg=r99\n"),
            "line 3: cannot read reg=r99");
  EXPECT_EQ(error("program \"p\" {\n"), "the program does not end with '}'");
}

TEST(Encoding, TextIsReadable) {
  const char *text = R"(program "p" semaphores=1 barriers=0 l1=64 l2=0 l3=4096 table=0 {
  stream dte first=0 count=1 {
    name "load"
    label 0
    loop reg=r4 limit=1024 step=256
      copy dst=L1[0;1*r1]{32,4} src=L3[128+4*r4]{64,4} sizes=[2,min(8,1000-r4)] multicast=2
      signal sem=0+1*r1
    end
  }
}
)";
  absl::StatusOr<Program> program = parseProgram(text);
  ASSERT_TRUE(program.ok()) << program.status();
  std::string printed = printProgram(*program);
  // Only a constant of 0 with other terms prints shorter.
  EXPECT_NE(printed.find("signal sem=1*r1\n"), std::string::npos) << printed;
  EXPECT_NE(printed.find("label 0\n    loop reg=r4 limit=1024 step=256\n      copy "
                         "dst=L1[0;1*r1]{32,4} src=L3[128+4*r4]{64,4} "
                         "sizes=[2,min(8,1000-r4)] multicast=2\n"),
            std::string::npos)
      << printed;
}

} // namespace
} // namespace st::dtu

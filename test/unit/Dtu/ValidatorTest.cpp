// Tests each check of the validator once, and that the validator accepts valid programs.
#include "backends/dtu/isa/Validator.h"
#include "backends/dtu/isa/Text.h"

#include "absl/strings/str_cat.h"

#include <gtest/gtest.h>

namespace st::dtu {
namespace {

MachineLimits limits() { return {8, 10, 1 << 18, 1 << 22, int64_t(1) << 32, 65536}; }

/// The error of a program with one stream, without the location before it.
std::string
errorOf(const char *engine, const char *body,
        const char *header = "semaphores=2 barriers=1 l1=65536 l2=65536 l3=65536 table=4",
        const char *instances = "first=0 count=8") {
  std::string text = absl::StrCat("program \"p\" ", header, " {\n stream ", engine, " ", instances,
                                  " {\n", body, "\n }\n}\n");
  absl::StatusOr<Program> program = parseProgram(text);
  if (!program.ok())
    return absl::StrCat("PARSE ", program.status().message(), "\n", text);
  absl::Status status = validate(*program, limits());
  std::string message(status.message());
  size_t colon = message.rfind("): ");
  return colon == std::string::npos ? message : message.substr(colon + 3);
}

TEST(Validator, MachineSizes) {
  EXPECT_EQ(errorOf("core", "", "l1=999999"),
            "program 'p': L1 bytes 999999 where there are 262144");
  EXPECT_EQ(errorOf("core", "", "l3=-1"), "program 'p': L3 bytes -1 where there are 4294967296");
  EXPECT_EQ(errorOf("core", "", "host=65537"),
            "program 'p': host bytes 65537 where there are 65536");
  EXPECT_EQ(errorOf("core", "", "", "first=4 count=5"), "5 instances from 4, but there are only 8");
  EXPECT_EQ(errorOf("core", "}\n stream core first=7 count=1 {\n"),
            "another stream runs on core 7 already");
}

TEST(Validator, ControlFlow) {
  EXPECT_EQ(errorOf("core", "end"), "end without a loop");
  EXPECT_EQ(errorOf("core", "loop reg=r4 limit=2"), "loop without an end");
  EXPECT_EQ(errorOf("core", "loop reg=r1 limit=2\nend"), "register r1 cannot be written");
  EXPECT_EQ(errorOf("core", "loop reg=r4 limit=2\nloop reg=r4 limit=2\nend\nend"),
            "register r4 is the counter of an enclosing loop");
  EXPECT_EQ(errorOf("core", "loop reg=r4 limit=2 step=0\nend"), "step must be positive");
  EXPECT_EQ(errorOf("core", "index dst=r4 value=1*r5 divide=0"), "divide must be positive");
  EXPECT_EQ(errorOf("core", "table dst=r4 index=4"),
            "table entries 4 to 4, but the table has only 4");
  EXPECT_EQ(errorOf("core", "wait sem=1*r1"), "semaphores 0 to 7, but the program has only 2");
  EXPECT_EQ(errorOf("core", "leave"), "leave without a loop");
  EXPECT_EQ(errorOf("core", "load dst=r4 address=L3[0]"), "a core can access only its own L1");
  EXPECT_EQ(errorOf("core", "load dst=r4 address=L1[0] type=f32"),
            "a register takes integers only");
  EXPECT_EQ(errorOf("dte", "load dst=r4 address=L3[65532]"),
            "address covers bytes 65532 to 65540 of L3, but the program has only 65536");
  EXPECT_EQ(errorOf("dte", "load dst=r2 address=L3[0]"), "register r2 cannot be written");
  EXPECT_EQ(errorOf("tx", "load dst=r4 address=L3[0]"),
            "is in a link stream, expected a core or dte stream");
  // A loop with a leave instruction may access fewer bytes than its limit suggests.
  EXPECT_EQ(errorOf("dte", "load dst=r5 address=L3[0]\nloop reg=r4 limit=99999999\n"
                           "fill dst=L3[4*r4]{4} sizes=[1]\nleave unless=r5\nend"),
            "");
  EXPECT_EQ(errorOf("core", "wait count=0"), "count must be positive");
  EXPECT_EQ(errorOf("core", "barrier id=1"), "barrier 1, but the program has only 1");
  EXPECT_EQ(errorOf("core", "barrier participants=8\nbarrier participants=4"),
            "barrier 0 has 8 participants elsewhere");
  EXPECT_EQ(errorOf("core", "barrier participants=9"),
            "program 'p': barrier 0 has 9 participants, but there are only 8 instances");
}

TEST(Validator, EnginesAndSpaces) {
  EXPECT_EQ(errorOf("core", "fill dst=L1[0]{4} sizes=[4]"),
            "is in a core stream, expected a dte stream");
  EXPECT_EQ(errorOf("core", "vector op=neg dst=f32:L2[0]{4,1} a=f32:L1[0]{4,1} rows=1 cols=4"),
            "a core can access only its own L1");
  EXPECT_EQ(errorOf("dte", "fill dst=L2[0]{4} sizes=[4] multicast=2"), "multicast is to L1 only");
  EXPECT_EQ(errorOf("dte", "fill dst=L1[0]{4} sizes=[4] multicast=9"),
            "multicast to 9 cores, but a cluster has only 8");
  EXPECT_EQ(errorOf("dte", "fill dst=host[0]{4} sizes=[4]"),
            "only a copy can access the host's memory");
  EXPECT_EQ(errorOf("dte", "copy dst=host[0]{4} src=host[64]{4} sizes=[4]"),
            "both sides are in the host's memory");
  EXPECT_EQ(errorOf("tx", "send src=host[0]{4} sizes=[4]"),
            "only a copy can access the host's memory");
  EXPECT_EQ(errorOf("dte", "copy dst=host[60]{4} src=L3[0]{4} sizes=[2]", "l3=64 host=64"),
            "destination covers bytes 60 to 68 of host, but the program has only 64");
  EXPECT_EQ(errorOf("rx", "send src=L3[0]{4} sizes=[4]"),
            "is in a rx stream, expected a tx stream");
}

TEST(Validator, ShapesAndTypes) {
  EXPECT_EQ(errorOf("dte", "copy dst=L1[0]{4} src=L3[0]{4,4} sizes=[2,2]"),
            "destination has 1 strides for 2 dimensions");
  EXPECT_EQ(errorOf("dte", "fill dst=L1[0]{6} sizes=[4]"),
            "stride 6 is not a multiple of the element's 4 bytes");
  EXPECT_EQ(errorOf("dte", "fill dst=L1[2]{4} sizes=[4]"), "destination is not aligned to 4 bytes");
  EXPECT_EQ(errorOf("core", "matmul c=L1[0] a=L1[0] b=L1[0] m=4 n=4 k=8 ldc=4 lda=4 ldb=4"),
            "leading dimension 4, expected at least the 8 elements of a row");
  EXPECT_EQ(
      errorOf("core", "matmul c=L1[0] a=L1[0] b=L1[0] m=4 n=4 k=4 ldc=4 lda=4 ldb=4 type=i32"),
      "the matrix engine takes f32, bf16 or f16");
  EXPECT_EQ(errorOf("core", "vector op=exp dst=i32:L1[0]{4,1} a=i32:L1[0]{4,1} rows=1 cols=4"),
            "'exp' does not take i32");
  EXPECT_EQ(errorOf("core", "vector op=lt dst=f32:L1[0]{4,1} a=f32:L1[0]{4,1} b=f32:L1[0]{4,1} "
                            "rows=1 cols=4"),
            "the destination of a comparison must be i1");
  EXPECT_EQ(errorOf("core", "vector op=add dst=f32:L1[0]{4,1} a=f32:L1[0]{4,1} b=i32:L1[0]{4,1} "
                            "rows=1 cols=4"),
            "operands have different types, f32 and i32");
}

TEST(Validator, AddressRangesAreExact) {
  // 16 rows of 4096 bytes fill L1; the ragged last tile ends where the memory does.
  const char *fits = "loop reg=r4 limit=1000 step=48\n"
                     "fill dst=L3[4*r4]{4} sizes=[min(48,1000-r4)]\nend";
  EXPECT_EQ(errorOf("dte", fits, "l3=4000"), "");
  EXPECT_EQ(errorOf("dte", fits, "l3=3999"),
            "destination covers bytes 0 to 4000 of L3, but the program has only 3999");
  EXPECT_EQ(errorOf("dte", "loop reg=r4 limit=4\nfill dst=L3[-16+4*r4]{4} sizes=[1]\nend"),
            "destination covers bytes -16 to 0 of L3, but the program has only 65536");
  EXPECT_EQ(errorOf("dte", "loop reg=r4 limit=0\nfill dst=L3[-16+4*r4]{4} sizes=[1]\nend"), "");
  EXPECT_EQ(errorOf("dte", "table dst=r4\nfill dst=L3[9999999+1*r4]{4} sizes=[1]"), "");
  EXPECT_EQ(errorOf("dte", "fill dst=L3[65532]{-4} sizes=[16384]"), "");
  EXPECT_EQ(errorOf("dte", "fill dst=L3[65532]{-4} sizes=[16385]"),
            "destination covers bytes -4 to 65536 of L3, but the program has only 65536");
}

} // namespace
} // namespace st::dtu

#include "lib/Runtime/Program/Payload.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/AtomicFile.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace st {
namespace {

const absl::string_view kRunner = "not quite an ELF file";
const absl::string_view kProgram("a program\0with a zero", 21);

TEST(PayloadTest, ComesBack) {
  EXPECT_EQ(*findPayload(appendPayload(kRunner, kProgram)), kProgram);
  EXPECT_EQ(*findPayload(appendPayload("", "")), "");
}

TEST(PayloadTest, TheLastOfSeveralCounts) {
  std::string once = appendPayload(kRunner, "first");
  EXPECT_EQ(*findPayload(appendPayload(once, "second")), "second");
}

TEST(PayloadTest, EveryFlippedBitIsFound) {
  const std::string good = appendPayload(kRunner, kProgram);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] ^= static_cast<char>(1 << bit % 8);
    absl::StatusOr<absl::string_view> payload = findPayload(bad);
    ASSERT_FALSE(payload.ok()) << "bit " << bit;
    EXPECT_EQ(payload.status().message().find('\n'), absl::string_view::npos);
  }
}

TEST(PayloadTest, EveryTruncationIsFound) {
  const std::string good = appendPayload(kRunner, kProgram);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(findPayload(good.substr(0, size)).ok()) << size << " bytes";
    EXPECT_FALSE(findPayload(good.substr(good.size() - size)).ok()) << "the last " << size;
  }
  EXPECT_FALSE(findPayload(good + "x").ok());
}

TEST(PayloadTest, TwoSwappedProgramsAreFound) {
  std::string a = appendPayload(kRunner, "aaaa"), b = appendPayload(kRunner, "bbbb");
  std::string mixed = b.substr(0, b.size() - 40) + a.substr(a.size() - 40);
  EXPECT_EQ(findPayload(mixed).status().message(),
            "damaged training binary: the training program does not match its checksum");
}

TEST(PayloadTest, FilesAreWrittenExecutable) {
  std::string runner = absl::StrCat(testing::TempDir(), "/payload-runner");
  std::string output = absl::StrCat(testing::TempDir(), "/payload-output");
  ASSERT_TRUE(writeFileAtomically(runner, kRunner).ok());
  ASSERT_TRUE(writeTrainingBinary(runner, output, kProgram).ok());
  EXPECT_EQ(*readPayload(output), kProgram);
  EXPECT_EQ(::access(output.c_str(), X_OK), 0);
  EXPECT_NE(readPayload(runner).status().message().find("it is a bare runner"),
            absl::string_view::npos);
  ::unlink(output.c_str());
  EXPECT_FALSE(readPayload(output).ok());
  EXPECT_FALSE(writeTrainingBinary(runner + ".missing", output, kProgram).ok());
  EXPECT_NE(::access(output.c_str(), F_OK), 0);
  EXPECT_FALSE(writeTrainingBinary(runner, "/nonexistent/x", kProgram).ok());
}

} // namespace
} // namespace st

#include "lib/Support/AtomicFile.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace st {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public ::testing::Test {
protected:
  void SetUp() override {
    folder = fs::path(::testing::TempDir()) /
             ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder);
    fs::create_directories(folder);
    path = folder / "file";
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string content() {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t filesInFolder() {
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
  }

  fs::path folder, path;
};

TEST_F(AtomicFileTest, ReplacesOnCommitOnly) {
  ASSERT_TRUE(writeFileAtomically(path, "old").ok());
  auto file = AtomicFile::create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->write("new").ok());
  EXPECT_EQ(content(), "old");
  ASSERT_TRUE((*file)->commit().ok());
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(filesInFolder(), 1u);
}

TEST_F(AtomicFileTest, AbandonedFileLeavesNothing) {
  auto file = AtomicFile::create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->write("half").ok());
  file->reset();
  EXPECT_EQ(filesInFolder(), 0u);
}

TEST_F(AtomicFileTest, ReplacesWhatALinkPointsTo) {
  ASSERT_TRUE(writeFileAtomically(folder / "target", "old").ok());
  fs::create_symlink(folder / "target", path);
  ASSERT_TRUE(writeFileAtomically(path, "new").ok());
  EXPECT_TRUE(fs::is_symlink(path));
  EXPECT_EQ(content(), "new");
}

TEST_F(AtomicFileTest, ErrorsNameTheTarget) {
  std::string missing = folder / "no" / "such";
  EXPECT_EQ(AtomicFile::create(missing).status().message(),
            missing + ": cannot write: No such file or directory");
  EXPECT_EQ(AtomicFile::create(folder).status().message(),
            folder.string() + ": cannot write: Is a directory");
}

TEST_F(AtomicFileTest, FullDeviceIsAnError) {
  EXPECT_EQ(writeFileAtomically("/dev/full", "x").message(),
            "/dev/full: cannot write: No space left on device");
  EXPECT_TRUE(writeFileAtomically("/dev/null", "x").ok());
}

} // namespace
} // namespace st

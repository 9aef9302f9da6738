#include "lib/Runtime/Checkpoint/PieceWriter.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <sys/resource.h>
#include <vector>

namespace st {
namespace {

constexpr int64_t kPiece = PieceWriter::kPieceBytes;

// Folders of file systems with and without direct writes, as far as the machine has them.
std::vector<std::string> findFolders() {
  std::vector<std::string> folders = {testing::TempDir()};
  if (std::filesystem::is_directory("/dev/shm"))
    folders.push_back("/dev/shm/");
  return folders;
}

// Writes `size` random bytes in random parts, and returns whether the file's data is equal.
void writeAndCompare(PieceWriter &writer, const std::string &folder, int64_t size,
                     std::mt19937 &draw) {
  const std::string path = absl::StrCat(folder, "st-pieces-", size, ".safetensors");
  std::vector<uint8_t> data(size);
  std::generate(data.begin(), data.end(), std::ref(draw));
  auto file = SafetensorsWriter::create(path, {{"x", ElementType::U8, {size}}}, {},
                                        AtomicFile::kDirectBlock);
  ASSERT_TRUE(file.ok()) << file.status();
  writer.begin(**file);
  for (int64_t at = 0; at < size;) {
    writer.setHurried(draw() % 2 == 0);
    const int64_t count = std::min<int64_t>(size - at, draw() % (2 * kPiece) + 1);
    ASSERT_TRUE(writer.append({data.data() + at, static_cast<size_t>(count)}).ok());
    at += count;
  }
  ASSERT_TRUE(writer.finish().ok());
  ASSERT_TRUE((*file)->commit().ok());
  auto reader = SafetensorsReader::open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::ifstream stream(path, std::ios::binary);
  std::vector<uint8_t> written{std::istreambuf_iterator<char>(stream), {}};
  ASSERT_GE(static_cast<int64_t>(written.size()), size);
  EXPECT_TRUE(std::equal(data.rbegin(), data.rend(), written.rbegin())) << path;
  EXPECT_EQ((written.size() - size) % AtomicFile::kDirectBlock, 0u);
  std::filesystem::remove(path);
}

TEST(PieceWriterTest, FilesHoldTheirBytes) {
  std::mt19937 draw(3);
  for (const std::string &folder : findFolders()) {
    PieceWriter writer;
    for (int64_t size : {int64_t(1), int64_t(4096), kPiece - 1, kPiece, kPiece + 5000,
                         6 * kPiece + 12345, 9 * kPiece})
      writeAndCompare(writer, folder, size, draw);
  }
}

// The caller does not wait for a thread that cannot write.
TEST(PieceWriterTest, AFailedWriteIsAnError) {
  constexpr int64_t kSize = 12 * kPiece;
  const std::string path = testing::TempDir() + "/st-pieces-limit.safetensors";
  auto file = SafetensorsWriter::create(path, {{"x", ElementType::U8, {kSize}}}, {},
                                        AtomicFile::kDirectBlock);
  ASSERT_TRUE(file.ok()) << file.status();
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {2 * kPiece, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  absl::Status status;
  {
    PieceWriter writer;
    writer.begin(**file);
    const std::vector<uint8_t> data(kSize);
    status = writer.append(data);
    status.Update(writer.finish());
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(status.message().find("cannot write: File too large"), std::string::npos) << status;
}

} // namespace
} // namespace st

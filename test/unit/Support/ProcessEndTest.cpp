#include "lib/Support/ProcessEnd.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/Files.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <new>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace st {
namespace {

namespace fs = std::filesystem;

class ProcessEndTest : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "/process-end";
    fs::remove_all(folder);
    fs::create_directory(folder);
    // The parent of the tests may have set them to be ignored.
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
      ::signal(number, SIG_DFL);
  }
  void TearDown() override { fs::remove_all(folder); }

  // Runs `work` in a child process and returns how the child ends.
  static int statusOf(const std::function<void()> &work) {
    const pid_t child = ::fork();
    if (child == 0) {
      setUpEarlyEnd("test");
      work();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }

  std::string folder;
};

TEST_F(ProcessEndTest, ASignalRemovesWhatIsUnfinished) {
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    const int status = statusOf([&] {
      const std::string inner = folder + "/made";
      RemovedOnEarlyEnd note(inner);
      ::mkdir(inner.c_str(), 0777);
      auto kept = AtomicFile::create(folder + "/kept"), lost = AtomicFile::create(inner + "/lost");
      if ((*kept)->write("x").ok() && (*kept)->commit().ok())
        ::raise(number);
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
    EXPECT_FALSE(exists(folder + "/made"));
    EXPECT_TRUE(exists(folder + "/kept"));
  }
}

TEST_F(ProcessEndTest, AForgottenFileStays) {
  statusOf([&] {
    RemovedOnEarlyEnd note(folder + "/file");
    if (!writeFileAtomically(folder + "/file", "x").ok())
      return;
    note.forget();
    ::raise(SIGTERM);
  });
  EXPECT_TRUE(exists(folder + "/file"));
}

TEST_F(ProcessEndTest, AFileThatAnEarlyEndRemovesCannotBeForgotten) {
  const std::string path = folder + "/file";
  const int status = statusOf([&] {
    // The thread that ends the process removes the file, and then waits: its line does not fit.
    int pipe[2];
    if (::pipe(pipe) != 0)
      return;
    ::fcntl(pipe[1], F_SETFL, O_NONBLOCK);
    while (::write(pipe[1], "x", 1) == 1)
      continue;
    ::fcntl(pipe[1], F_SETFL, 0);
    ::dup2(pipe[1], STDERR_FILENO);
    RemovedOnEarlyEnd note(path);
    if (!writeFileAtomically(path, "x").ok())
      return;
    std::thread other([&] {
      while (exists(path))
        std::this_thread::yield();
      RemovedOnEarlyEnd another(path);
      ::_exit(!note.forget() && another.forget() ? 7 : 8);
    });
    endEarly("no more");
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST_F(ProcessEndTest, SignalsWaitForStepsThatBelongTogether) {
  const int status = statusOf([&] {
    {
      SignalsWait wait;
      ::raise(SIGTERM);
      ::mkdir((folder + "/both").c_str(), 0777);
    }
    ::_exit(7);
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_TRUE(exists(folder + "/both"));
}

TEST_F(ProcessEndTest, AnIgnoredSignalStaysIgnored) {
  std::signal(SIGHUP, SIG_IGN);
  const int status = statusOf([] { ::raise(SIGHUP); });
  std::signal(SIGHUP, SIG_DFL);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(ProcessEndTest, ALackOfMemoryIsAnError) {
  const int status = statusOf([] { std::get_new_handler()(); });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
}

} // namespace
} // namespace st

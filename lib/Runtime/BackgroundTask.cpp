#include "lib/Runtime/BackgroundTask.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace st {

BackgroundTask::BackgroundTask(std::function<absl::Status()> work) : work(std::move(work)) {
  try {
    thread = std::thread([this] { run(); });
  } catch (const std::system_error &) {
    run();
  }
}

BackgroundTask::~BackgroundTask() {
  if (thread.joinable())
    thread.join();
}

void BackgroundTask::run() {
  const auto start = std::chrono::steady_clock::now();
  result = work();
  duration = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  done.Notify();
}

} // namespace st

// Runs a client's work in submission order on a separate thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace st::pjrt {

/// Work only waits for work submitted before it, so no order deadlocks.
class WorkQueue {
public:
  WorkQueue();
  /// Drops pending work. Does not wait for running work, so that a process ends immediately.
  ~WorkQueue();
  WorkQueue(const WorkQueue &) = delete;
  WorkQueue &operator=(const WorkQueue &) = delete;

  void post(std::function<void()> work);

private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> waiting;
    bool stopped = false;
  };
  static void run(const std::shared_ptr<State> &state);

  std::shared_ptr<State> state;
};

} // namespace st::pjrt

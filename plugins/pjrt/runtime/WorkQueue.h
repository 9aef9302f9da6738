// Runs work of a client in the order in which it was given, in a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace st::pjrt {

/// Work that waits for other work of the queue was given after it, so that no order is a deadlock.
class WorkQueue {
public:
  WorkQueue();
  /// Drops what has not begun. Does not wait for what has: a process ends at once.
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

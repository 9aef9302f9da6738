// Work on a thread that runs during the training.
#ifndef ST_RUNTIME_BACKGROUNDTASK_H
#define ST_RUNTIME_BACKGROUNDTASK_H

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

#include <functional>
#include <memory>
#include <thread>

namespace st {

/// Runs `work` once.
class BackgroundTask {
public:
  /// Starts the thread. If the host cannot start a thread, `work` runs before this returns.
  explicit BackgroundTask(std::function<absl::Status()> work);
  /// Waits until the work ends.
  ~BackgroundTask();
  BackgroundTask(const BackgroundTask &) = delete;
  BackgroundTask &operator=(const BackgroundTask &) = delete;

  bool isDone() const { return done.HasBeenNotified(); }
  void wait() const { done.WaitForNotification(); }
  /// Waits until the work ends, at most for the given time. Returns true if it has ended.
  bool waitFor(absl::Duration time) const { return done.WaitForNotificationWithTimeout(time); }
  /// The result; the work must have ended.
  const absl::Status &status() const { return result; }
  /// The time from start to end; the work must have ended.
  double seconds() const { return duration; }

private:
  void run();

  std::function<absl::Status()> work;
  absl::Status result;
  double duration = 0;
  absl::Notification done;
  std::thread thread;
};

} // namespace st

#endif // ST_RUNTIME_BACKGROUNDTASK_H

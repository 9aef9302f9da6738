// Restarts a training run when its process is lost.
#ifndef ST_RUNTIME_TRAINING_SUPERVISOR_H
#define ST_RUNTIME_TRAINING_SUPERVISOR_H

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <atomic>
#include <cstdint>
#include <cstdio>

namespace st {

/// The progress of a supervised run, in memory that the run and its supervisor share.
struct RunProgress {
  std::atomic<int64_t> step{0};  ///< the last completed step
  std::atomic<int64_t> steps{0}; ///< steps that this process has completed

  void done(int64_t number) {
    step.store(number);
    steps.fetch_add(1);
  }
};

struct SuperviseOptions {
  /// Maximum number of successive losses of the run without progress beyond the latest step; 0: the
  /// run is not supervised.
  int64_t restarts = 0;
  /// Kills a run that completes no step for this time, and counts it as lost; 0: no limit. Loading
  /// counts towards the first step.
  double stepSeconds = 0;

  bool isEnabled() const { return restarts > 0; }
};

/// An error names the flag.
absl::Status checkSuperviseOptions(const SuperviseOptions &options);

/// Runs `body` in a child process and returns its exit code. Restarts a child that a signal ends,
/// or that fails after its first step, with growing delays. Does not restart a first child that
/// fails before its first step: that is a user error. Passes on SIGTERM, SIGINT, SIGUSR1 and
/// SIGHUP, and does not restart after one of them. `body` gets SIGTERM if the supervisor dies.
/// Messages go to `progress`. The process must have a single thread.
absl::StatusOr<int> supervise(const SuperviseOptions &options,
                              absl::FunctionRef<int(RunProgress &)> body, std::FILE *progress);

} // namespace st

#endif // ST_RUNTIME_TRAINING_SUPERVISOR_H

// Starts a training run again when its process is lost.
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
  std::atomic<int64_t> step{0};  ///< the last step done
  std::atomic<int64_t> steps{0}; ///< how many steps this process has done

  void done(int64_t number) {
    step.store(number);
    steps.fetch_add(1);
  }
};

struct SuperviseOptions {
  /// How often the run may be lost in succession without a step later than all before; 0: the run
  /// is not supervised.
  int64_t restarts = 0;
  /// A run that completes no step for so long counts as lost and is killed; 0: no limit. The time
  /// that loading takes counts to the first step.
  double stepSeconds = 0;

  bool isOn() const { return restarts > 0; }
};

/// An error names the flag.
absl::Status checkSuperviseOptions(const SuperviseOptions &options);

/// Runs `body` in a child process and returns its exit code. A child that a signal ends, or that
/// ends with an error after its first step, is started again, later each time. An error before the
/// first step of the first child is the user's, and is returned at once. SIGTERM, SIGINT, SIGUSR1
/// and SIGHUP are passed on; after one of them nothing is started again. `body` gets SIGTERM
/// should the supervisor die. Messages go to `progress`. To be called while the process has one
/// thread.
absl::StatusOr<int> supervise(const SuperviseOptions &options,
                              absl::FunctionRef<int(RunProgress &)> body, std::FILE *progress);

} // namespace st

#endif // ST_RUNTIME_TRAINING_SUPERVISOR_H

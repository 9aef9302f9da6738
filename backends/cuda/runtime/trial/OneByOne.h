// Runs commands one by one, so that an error names the command that fails.
#ifndef ST_BACKENDS_CUDA_RUNTIME_TRIAL_ONEBYONE_H
#define ST_BACKENDS_CUDA_RUNTIME_TRIAL_ONEBYONE_H

#include "absl/status/status.h"

#include <mutex>

namespace st::cuda {

/// The ranks that share a GPU. If a command of one rank fails, all of them lose the GPU.
class OneByOne {
public:
  /// Clears the state of a failed step. Call it before the ranks of a step run.
  void begin() {
    std::lock_guard<std::mutex> lock(mutex);
    failure = absl::OkStatus();
  }

  /// `run` submits a command and waits for it. A command that waits for no other rank runs alone.
  /// Other commands may report a concurrent command's error, so all ranks report the first failure.
  template <class Run> absl::Status run(bool waitsForOthers, Run run) {
    if (waitsForOthers) {
      const absl::Status status = run();
      if (status.ok())
        return status;
      std::lock_guard<std::mutex> lock(mutex);
      failure.Update(status);
      return failure;
    }
    std::lock_guard<std::mutex> lock(mutex);
    if (failure.ok())
      failure = run();
    return failure;
  }

private:
  std::mutex mutex;
  absl::Status failure;
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_TRIAL_ONEBYONE_H

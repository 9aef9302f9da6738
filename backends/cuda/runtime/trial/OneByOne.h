// Running commands one by one, so that what fails is the command that an error names.
#ifndef ST_BACKENDS_CUDA_RUNTIME_TRIAL_ONEBYONE_H
#define ST_BACKENDS_CUDA_RUNTIME_TRIAL_ONEBYONE_H

#include "absl/status/status.h"

#include <mutex>

namespace st::cuda {

/// The ranks that share a GPU. If a command of one fails, the GPU is lost for all of them.
class OneByOne {
public:
  /// Before the ranks of a step run. Clears the state of a failed step.
  void begin() {
    std::lock_guard<std::mutex> lock(mutex);
    failure = absl::OkStatus();
  }

  /// `run` submits a command and waits for it. Commands that wait for no other rank run alone.
  /// Others may report the error of a concurrent command, so all ranks report the first failure.
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

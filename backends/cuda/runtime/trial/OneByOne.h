// Running commands one by one, so that what fails is the command that an error names.
#ifndef ST_BACKENDS_CUDA_RUNTIME_TRIAL_ONEBYONE_H
#define ST_BACKENDS_CUDA_RUNTIME_TRIAL_ONEBYONE_H

#include "absl/status/status.h"

#include <mutex>

namespace st::cuda {

/// Of the ranks that share a GPU, which is lost for all of them when a command of one fails.
class OneByOne {
public:
  /// Before the ranks of a step run. Forgets what a failed step has left.
  void begin() {
    std::lock_guard<std::mutex> lock(mutex);
    failure = absl::OkStatus();
  }

  /// `run` gives a command and waits for it. What waits for no other rank runs alone; of what does,
  /// an error may be that of a command which ran beside it: the first that fails is told by all.
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

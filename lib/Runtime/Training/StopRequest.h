// Requests that end a training run before its last step.
#ifndef ST_RUNTIME_TRAINING_STOPREQUEST_H
#define ST_RUNTIME_TRAINING_STOPREQUEST_H

#include "st/Runtime/Communicator.h"

#include "absl/status/statusor.h"

#include <csignal>
#include <string>

namespace st {

/// During its lifetime records SIGTERM and SIGUSR1, which then do not end the process. Schedulers
/// send them shortly before the end of a job's time. SIGINT still ends the process immediately.
class StopSignals {
public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;

  /// The signal that arrived last, SIGTERM or SIGUSR1; 0 if none did.
  static int received();

private:
  struct sigaction before[2];
};

/// "SIGTERM" or "SIGUSR1".
std::string nameOfSignal(int number);

/// The maximum of a value over all processes. Each process must call it once per step.
absl::StatusOr<int> largestOfAll(Communicator &communicator, int value);

} // namespace st

#endif // ST_RUNTIME_TRAINING_STOPREQUEST_H

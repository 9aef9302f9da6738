// What ends a training run before its last step.
#ifndef ST_RUNTIME_TRAINING_STOPREQUEST_H
#define ST_RUNTIME_TRAINING_STOPREQUEST_H

#include "st/Runtime/Communicator.h"

#include "absl/status/statusor.h"

#include <csignal>
#include <string>

namespace st {

/// While it lives, SIGTERM and SIGUSR1, by which schedulers announce that a job's time is over,
/// are noted and do not end the process. SIGINT still ends it at once.
class StopSignals {
public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;

  /// SIGTERM or SIGUSR1, whichever came last; 0: none.
  static int received();

private:
  struct sigaction before[2];
};

/// "SIGTERM" or "SIGUSR1".
std::string nameOfSignal(int number);

/// The largest of the values that the processes give, in all of them. Each calls it once a step.
absl::StatusOr<int> largestOfAll(Communicator &communicator, int value);

} // namespace st

#endif // ST_RUNTIME_TRAINING_STOPREQUEST_H

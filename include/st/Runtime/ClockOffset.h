// The difference between the clocks of processes, which may run on different machines.
#ifndef ST_RUNTIME_CLOCKOFFSET_H
#define ST_RUNTIME_CLOCKOFFSET_H

#include "st/Runtime/Communicator.h"

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include <chrono>

namespace st {

struct ClockOffset {
  /// Added to this process's time to get that of process 0. Zero there.
  std::chrono::nanoseconds toFirst{0};
  /// Bound of the error of `toFirst` in either direction: half of the answer's round-trip time.
  std::chrono::nanoseconds bound{0};
};

/// `now` is the time of this process, from any origin. Each process asks process 0 for its time
/// several times, and takes the fastest answer (Cristian, "Probabilistic clock synchronization",
/// Distributed Computing 3, 1989). All processes call it, with no message between them pending. An
/// error if the watchdog's time passes.
absl::StatusOr<ClockOffset> compareClocks(Communicator &communicator,
                                          absl::FunctionRef<std::chrono::nanoseconds()> now);

} // namespace st

#endif // ST_RUNTIME_CLOCKOFFSET_H

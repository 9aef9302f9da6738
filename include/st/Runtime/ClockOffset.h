// The difference between the clocks of processes, which may run on different machines.
#ifndef ST_RUNTIME_CLOCKOFFSET_H
#define ST_RUNTIME_CLOCKOFFSET_H

#include "st/Runtime/Communicator.h"

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include <chrono>

namespace st {

struct ClockOffset {
  /// The offset from this process's clock to that of process 0; zero in process 0.
  std::chrono::nanoseconds toFirst{0};
  /// Bound of the error of `toFirst` in either direction: half of the answer's round-trip time.
  std::chrono::nanoseconds bound{0};
};

/// `now` is the time of this process, from any origin. Each process requests the time of process 0
/// several times and uses the fastest reply (Cristian, "Probabilistic clock synchronization",
/// Distributed Computing 3, 1989). All processes must call it together, with no message between
/// them pending. Exceeding the watchdog's time is an error.
absl::StatusOr<ClockOffset> compareClocks(Communicator &communicator,
                                          absl::FunctionRef<std::chrono::nanoseconds()> now);

} // namespace st

#endif // ST_RUNTIME_CLOCKOFFSET_H

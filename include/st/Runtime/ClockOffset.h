// How far the clocks of processes are apart, which may run on different machines.
#ifndef ST_RUNTIME_CLOCKOFFSET_H
#define ST_RUNTIME_CLOCKOFFSET_H

#include "st/Runtime/Communicator.h"

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include <chrono>

namespace st {

struct ClockOffset {
  /// What is added to this process's time for that of process 0. Zero there.
  std::chrono::nanoseconds toFirst{0};
  /// By how much `toFirst` may be wrong, either way: half of the time that the answer took.
  std::chrono::nanoseconds bound{0};
};

/// By `now`, the time of this process, from any origin. Each process asks process 0 for its time,
/// some times, and takes the answer that came fastest (Cristian, "Probabilistic clock
/// synchronization", Distributed Computing 3, 1989). All processes call it; no message between them
/// is under way. An error if the watchdog's time passes.
absl::StatusOr<ClockOffset> compareClocks(Communicator &communicator,
                                          absl::FunctionRef<std::chrono::nanoseconds()> now);

} // namespace st

#endif // ST_RUNTIME_CLOCKOFFSET_H

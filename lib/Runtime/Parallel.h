// Loops over independent work on host threads.
#ifndef ST_RUNTIME_PARALLEL_H
#define ST_RUNTIME_PARALLEL_H

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include <cstdint>

namespace st {

/// `requested` if positive, else the number of processors.
int hostThreadCount(int requested);

/// Calls body(i) once for each i below `count` on up to `threads` threads, in
/// any order, and returns when all are done. An error as in runOnThreads.
absl::Status parallelFor(int threads, int64_t count, absl::FunctionRef<void(int64_t)> body);

} // namespace st

#endif // ST_RUNTIME_PARALLEL_H

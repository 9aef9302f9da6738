// Work that several threads share.
#ifndef ST_SUPPORT_THREADS_H
#define ST_SUPPORT_THREADS_H

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include <cstdint>

namespace st {

/// Calls `work` on `count` threads, including this one, and returns when all are done. An error if
/// the host cannot start that many; the started threads have then run anyway.
absl::Status runOnThreads(int64_t count, absl::FunctionRef<void()> work);

} // namespace st

#endif // ST_SUPPORT_THREADS_H

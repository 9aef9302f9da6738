#include "lib/Runtime/Parallel.h"

#include "lib/Support/Threads.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace st {

int hostThreadCount(int requested) {
  return requested > 0 ? requested
                       : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

absl::Status parallelFor(int threads, int64_t count, absl::FunctionRef<void(int64_t)> body) {
  std::atomic<int64_t> next{0};
  return runOnThreads(std::min<int64_t>(threads, count), [&] {
    for (int64_t i; (i = next.fetch_add(1)) < count;)
      body(i);
  });
}

} // namespace st

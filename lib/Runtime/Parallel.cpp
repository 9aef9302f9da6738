#include "lib/Runtime/Parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace st {

int hostThreadCount(int requested) {
  return requested > 0 ? requested
                       : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void parallelFor(int threads, int64_t count, absl::FunctionRef<void(int64_t)> body) {
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t i; (i = next.fetch_add(1)) < count;)
      body(i);
  };
  std::vector<std::thread> helpers;
  for (int64_t i = 1, n = std::min<int64_t>(threads, count); i < n; ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
}

} // namespace st

#include "lib/Support/Threads.h"

#include "absl/strings/str_cat.h"

#include <system_error>
#include <thread>
#include <vector>

namespace st {

absl::Status runOnThreads(int64_t count, absl::FunctionRef<void()> work) {
  std::vector<std::thread> helpers;
  absl::Status status;
  for (int64_t i = 1; i < count && status.ok(); ++i) {
    try {
      helpers.emplace_back([&] { work(); });
    } catch (const std::system_error &error) {
      status = absl::ResourceExhaustedError(
          absl::StrCat("cannot start thread ", i + 1, " of ", count,
                       " that compute: ", error.code().message(), "; see --host-threads"));
    }
  }
  work();
  for (std::thread &helper : helpers)
    helper.join();
  return status;
}

} // namespace st

// Counts the graphs that ranks requested, and those that could not be captured.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMANDS_GRAPHUSE_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMANDS_GRAPHUSE_H

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <mutex>
#include <string>

namespace st::cuda {

/// Shared by all ranks of a process.
class GraphUse {
public:
  void count(const absl::Status &created, absl::string_view where) {
    std::lock_guard<std::mutex> lock(mutex);
    ++asked;
    if (created.ok())
      return;
    if (++refused == 1)
      first = absl::StrCat(where, ": ", created.message());
  }

  /// Returns a line if graphs could not be captured since the last call; else an empty string.
  std::string takeReport() {
    std::lock_guard<std::mutex> lock(mutex);
    std::string line;
    if (refused > reported)
      line = absl::StrCat(
          "graphs: ", refused, " of ", asked,
          " cannot be captured, so their commands are launched one by one; the first, ", first);
    reported = refused;
    return line;
  }

private:
  std::mutex mutex;
  int64_t asked = 0, refused = 0, reported = 0;
  std::string first;
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDS_GRAPHUSE_H

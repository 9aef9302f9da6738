// Runs other programs with a time limit.
#ifndef ST_TOOLS_ST_TUNE_CHILDPROCESS_H
#define ST_TOOLS_ST_TUNE_CHILDPROCESS_H

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mlir::st {

struct ChildEnd {
  enum Way : uint8_t { Exited, Signalled, TimedOut };
  Way way = Exited;
  int code = 0; ///< exit status or signal
  double seconds = 0;

  bool succeeded() const { return way == Exited && code == 0; }
  /// "exit status 3", "signal 9 (Killed)" or "timed out".
  std::string describe() const;
};

/// Returns true if a signal that ends this process is pending (SignalsWait).
bool isEndRequested();

/// Runs `arguments` (the program first, searched in PATH) without input, with its output in the two
/// files, in a separate process group. After `limitSeconds` the group gets SIGTERM, and two seconds
/// later SIGKILL. The rest of the group ends with the program. The caller delays ending signals
/// (SignalsWait): a signal ends the group, stays pending, and gives Cancelled. Other errors say why
/// the program did not start.
absl::StatusOr<ChildEnd> runChild(const std::vector<std::string> &arguments,
                                  const std::string &outPath, const std::string &errorPath,
                                  double limitSeconds);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_CHILDPROCESS_H

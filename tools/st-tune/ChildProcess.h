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

/// Whether a signal that ends this process has come and waits (SignalsWait).
bool isEndRequested();

/// Runs `arguments` (the program first; looked for in PATH) without input, its output in the two
/// files, in a process group of its own. After `limitSeconds` the group gets SIGTERM and two
/// seconds later SIGKILL. What is left of the group ends with the program. The caller keeps ending
/// signals waiting (SignalsWait): one that comes ends the group, still waits afterwards, and gives
/// Cancelled. Other errors say why the program did not start.
absl::StatusOr<ChildEnd> runChild(const std::vector<std::string> &arguments,
                                  const std::string &outPath, const std::string &errorPath,
                                  double limitSeconds);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_CHILDPROCESS_H

// The prebuilt runner at the start of training binaries.
#ifndef ST_DRIVER_RUNNER_H
#define ST_DRIVER_RUNNER_H

#include "mlir/Support/LLVM.h"

#include "absl/status/status.h"

namespace mlir::st {

/// Checks that the file is st-runner without an appended program. The error begins with the path.
absl::Status checkRunner(StringRef path);

} // namespace mlir::st

#endif // ST_DRIVER_RUNNER_H

// Checks a compilation request before any work.
#ifndef ST_DRIVER_CHECKREQUEST_H
#define ST_DRIVER_CHECKREQUEST_H

#include "lib/Driver/Compiler.h"

#include "absl/status/status.h"

namespace mlir::st {

/// The first error in a request to write a module or a binary. It names the flag.
absl::Status checkRequest(const CompileRequest &request);

} // namespace mlir::st

#endif // ST_DRIVER_CHECKREQUEST_H

// Unrecoverable errors of a process, reported in one line instead of by a crash.
#ifndef ST_DRIVER_ERRORHANDLERS_H
#define ST_DRIVER_ERRORHANDLERS_H

namespace mlir::st {

/// setUpEarlyEnd for tools that link LLVM. Out of memory, failures to start a thread, fatal errors
/// of LLVM and stack overflows print "<tool>: error: <reason>", remove temporary files and exit
/// with 1. Call after InitLLVM, whose handlers it replaces.
void installErrorHandlers(const char *tool);

} // namespace mlir::st

#endif // ST_DRIVER_ERRORHANDLERS_H

// Unrecoverable errors of a process, reported in one line instead of by a crash.
#ifndef ST_DRIVER_ERRORHANDLERS_H
#define ST_DRIVER_ERRORHANDLERS_H

namespace mlir::st {

/// setUpEarlyEnd for tools with LLVM in them: besides a lack of memory, a thread that the system
/// refuses, a fatal error of LLVM and an exhausted stack print "<tool>: error: <reason>" and end
/// the process with 1, its temporary files removed. Call after InitLLVM, whose handlers it
/// replaces.
void installErrorHandlers(const char *tool);

} // namespace mlir::st

#endif // ST_DRIVER_ERRORHANDLERS_H

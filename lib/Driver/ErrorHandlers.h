// Unrecoverable errors of a process, reported in one line instead of by a crash.
#ifndef ST_DRIVER_ERRORHANDLERS_H
#define ST_DRIVER_ERRORHANDLERS_H

namespace mlir::st {

/// Does what setUpEarlyEnd does, for tools that link LLVM: if memory is exhausted, a thread cannot
/// start, LLVM reports a fatal error or the stack overflows, the process prints "<tool>: error:
/// <reason>", removes temporary files and exits with 1. Call after InitLLVM, whose handlers it
/// replaces.
void installErrorHandlers(const char *tool);

} // namespace mlir::st

#endif // ST_DRIVER_ERRORHANDLERS_H

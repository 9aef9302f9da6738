// Predicts the time of a step of a binary's program, and writes a page about it.
#ifndef ST_DRIVER_PREDICTSTEP_H
#define ST_DRIVER_PREDICTSTEP_H

#include "lib/Driver/Compiler.h"
#include "lib/Report/StepFigures.h"
#include "lib/Support/AtomicFile.h"

namespace mlir::st {

/// Returns an error, which names the flag, if this compilation cannot write a page.
absl::Status checkReportRequest(const CompileRequest &request);

/// Times a step, writes the time into the program and prints it unless `request` is quiet; writes
/// the page to `page` unless that is null.
absl::Status predictStep(const CompileRequest &request, const ::st::MemoryUse &memory,
                         ::st::AtomicFile *page, ::st::proto::Executable &executable);

/// The same for a program for GPUs, by the costs of its commands. If these depend on data, or
/// the target is the host, there is no prediction, and requesting a page is an error.
absl::Status predictGpuStep(const CompileRequest &request, const ::st::MemoryUse &memory,
                            ::st::AtomicFile *page, ::st::proto::Executable &executable);

} // namespace mlir::st

#endif // ST_DRIVER_PREDICTSTEP_H

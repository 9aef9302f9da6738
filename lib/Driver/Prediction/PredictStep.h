// How long a step of the program takes that goes into a binary, and a page about it.
#ifndef ST_DRIVER_PREDICTSTEP_H
#define ST_DRIVER_PREDICTSTEP_H

#include "lib/Driver/Compiler.h"
#include "lib/Report/StepFigures.h"
#include "lib/Support/AtomicFile.h"

namespace mlir::st {

/// What is wrong with asking for a page in this compilation. Names the flag.
absl::Status checkReportRequest(const CompileRequest &request);

/// Times a step, writes that into the program and prints it unless `request` is quiet; writes the
/// page to `page` unless that is null.
absl::Status predictStep(const CompileRequest &request, const ::st::MemoryUse &memory,
                         ::st::AtomicFile *page, ::st::proto::Executable &executable);

/// The same of a program for GPUs, by the costs of its commands. Nothing is predicted where that
/// depends on data, nor of this machine in the place of GPUs: there a page is an error.
absl::Status predictGpuStep(const CompileRequest &request, const ::st::MemoryUse &memory,
                            ::st::AtomicFile *page, ::st::proto::Executable &executable);

} // namespace mlir::st

#endif // ST_DRIVER_PREDICTSTEP_H

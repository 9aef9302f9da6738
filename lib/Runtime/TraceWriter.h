// Writes traces in the JSON format of Perfetto and Chrome.
#ifndef ST_RUNTIME_TRACEWRITER_H
#define ST_RUNTIME_TRACEWRITER_H

#include "st/Runtime/Executable.h"

#include "lib/Support/AtomicFile.h"

namespace st {

/// Writes the trace: a process per rank, a thread per engine of the rank, and a complete event per
/// span, in microseconds. "otherData" has the maximum error in microseconds between times of
/// different ranks. The caller commits the file.
///
/// The format: "Trace Event Format", Google, 2016.
absl::Status writeTrace(const StepTrace &trace, AtomicFile &file);

} // namespace st

#endif // ST_RUNTIME_TRACEWRITER_H

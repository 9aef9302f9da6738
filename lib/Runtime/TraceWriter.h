// Traces in the JSON form that Perfetto and Chrome open.
#ifndef ST_RUNTIME_TRACEWRITER_H
#define ST_RUNTIME_TRACEWRITER_H

#include "st/Runtime/Executable.h"

#include "lib/Support/AtomicFile.h"

namespace st {

/// Writes the trace: a process for each rank, a thread for each of its engines,
/// a complete event for each span, in microseconds. "otherData" has by how many microseconds
/// times of different ranks may be wrong beside each other. The caller commits.
///
/// The format: "Trace Event Format", Google, 2016.
absl::Status writeTrace(const StepTrace &trace, AtomicFile &file);

} // namespace st

#endif // ST_RUNTIME_TRACEWRITER_H

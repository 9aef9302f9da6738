// Checks an Executable before anything is allocated or run from it.
#ifndef ST_RUNTIME_VALIDATEEXECUTABLE_H
#define ST_RUNTIME_VALIDATEEXECUTABLE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/Proto/executable.pb.h"

namespace st {

/// The format that this runtime runs.
constexpr int64_t kExecutableFormatVersion = 3;

/// Everything the runtime relies on later without looking: counts agree, slices
/// divide their tensors, every tensor lies within its rank's arena and persistent
/// ones do not overlap, the schedule names tasks and micro-batches that exist.
/// The tasks' programs are not decoded: that is the target's to do. An error is
/// one line that names the group and the tensor.
absl::Status validateExecutable(const proto::Executable &program);

/// Parses and validates the payload of a training binary.
absl::StatusOr<proto::Executable> parseExecutable(absl::string_view payload);

} // namespace st

#endif // ST_RUNTIME_VALIDATEEXECUTABLE_H

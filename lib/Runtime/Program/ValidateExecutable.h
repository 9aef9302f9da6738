// Checks an Executable before anything is allocated or run from it.
#ifndef ST_RUNTIME_VALIDATEEXECUTABLE_H
#define ST_RUNTIME_VALIDATEEXECUTABLE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/Proto/executable.pb.h"

namespace st {

/// The format version that this runtime supports.
constexpr int64_t kExecutableFormatVersion = 3;

/// Checks everything that the runtime relies on later: counts agree, slices divide their tensors,
/// every tensor is within its rank's arena, persistent tensors do not overlap, and the schedule
/// names existing tasks and micro-batches. Does not decode the tasks' programs, which is up to the
/// target. An error is one line that names the group and the tensor.
absl::Status validateExecutable(const proto::Executable &program);

/// Parses and validates the payload of a training binary.
absl::StatusOr<proto::Executable> parseExecutable(absl::string_view payload);

} // namespace st

#endif // ST_RUNTIME_VALIDATEEXECUTABLE_H

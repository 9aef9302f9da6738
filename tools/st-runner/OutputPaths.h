// Checks that no output of a run replaces another one or an input.
#ifndef ST_RUNNER_OUTPUTPATHS_H
#define ST_RUNNER_OUTPUTPATHS_H

#include "absl/status/status.h"

#include <string>

namespace st {

struct RunRequest;

/// An error that names two flags with the same file, if one of them writes it. A run may save to
/// the folder from which it resumes. Pipes and devices do not count.
absl::Status checkOutputPaths(const RunRequest &request, const std::string &binary);

} // namespace st

#endif // ST_RUNNER_OUTPUTPATHS_H

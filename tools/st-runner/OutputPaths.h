// Checks that no output of a run replaces another one or an input.
#ifndef ST_RUNNER_OUTPUTPATHS_H
#define ST_RUNNER_OUTPUTPATHS_H

#include "absl/status/status.h"

#include <string>

namespace st {

struct RunRequest;

/// Returns an error if two flags name the same file and one of them writes it. A run may save to
/// the folder from which it resumes. Pipes and devices do not count.
absl::Status checkOutputPaths(const RunRequest &request, const std::string &binary);

} // namespace st

#endif // ST_RUNNER_OUTPUTPATHS_H

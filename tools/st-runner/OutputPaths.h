// That no output of a run takes the place of another or of an input.
#ifndef ST_RUNNER_OUTPUTPATHS_H
#define ST_RUNNER_OUTPUTPATHS_H

#include "absl/status/status.h"

#include <string>

namespace st {

struct RunRequest;

/// An error that names two flags which name one file, of which one would write
/// it. A run may save to the folder that it resumes from. Pipes and devices do
/// not count.
absl::Status checkOutputPaths(const RunRequest &request, const std::string &binary);

} // namespace st

#endif // ST_RUNNER_OUTPUTPATHS_H

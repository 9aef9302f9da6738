// DeepSpeed configurations for trials of other software.
#ifndef ST_TOOLS_ST_TUNE_DEEPSPEEDFILE_H
#define ST_TOOLS_ST_TUNE_DEEPSPEEDFILE_H

#include "lib/Planner/Layout.h"

#include "absl/status/statusor.h"

#include <string>

namespace mlir::st {

/// The user's configuration ("{}" for none) with the batch sizes and the ZeRO stage of a layout,
/// and without the section for DeepSpeed's own tuning. `path` begins the errors.
absl::StatusOr<std::string> writeDeepSpeedConfig(const std::string &text, const std::string &path,
                                                 const ::st::Layout &layout);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_DEEPSPEEDFILE_H

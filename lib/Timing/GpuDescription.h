// Loading and checking a GPU's description (devices/cuda-*.textproto).
#pragma once

#include "lib/Proto/device.pb.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st {

/// Returns true if the name of a target or of a description file is that of a GPU: "cuda-sm_90",
/// "x/cuda-mine.textproto".
bool isGpuName(absl::string_view name);

/// Like those of DtuDescription.h: text form, file, built-in.
absl::StatusOr<proto::GpuDescription> parseGpuDescription(absl::string_view text,
                                                          const std::string &name);
absl::StatusOr<proto::GpuDescription> loadGpuDescription(const std::string &path);
absl::StatusOr<proto::GpuDescription> builtinGpuDescription(absl::string_view name);
std::vector<std::string> builtinGpuDescriptionNames();

absl::Status checkGpuDescription(const proto::GpuDescription &description);

/// InvalidArgument for an id beyond the last GPU of the last node.
absl::Status checkGpuId(const proto::GpuDescription &description, int64_t deviceId);

} // namespace st

// Common parts of device descriptions: their text form and the bounds of their figures.
#pragma once

#include "lib/Proto/device.pb.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <string>

namespace st {

/// "<field>: <what>".
absl::Status fieldError(absl::string_view field, absl::string_view what);

/// Checks that a source begins with one of the marks of docs/clusters.md (v, d, r or a), either
/// alone or followed by a colon.
absl::Status checkSource(const std::string &source, absl::string_view field);

/// Checks that a number is within the bounds of a figure: positive, finite and of a plausible size.
absl::Status checkNumber(double value, absl::string_view field);

/// Checks that every count is from 1 to 4096, that the figures for which `isNeeded` is true are
/// present, and that all figures are in bounds and have a source that starts with v, d, r or a.
absl::Status checkFigures(const google::protobuf::Message &description,
                          bool (*isNeeded)(const google::protobuf::Message &description,
                                           const std::string &field));

/// Reads the text form. `name` begins the error.
absl::Status parseDevice(absl::string_view text, const std::string &name,
                         google::protobuf::Message &description);

} // namespace st

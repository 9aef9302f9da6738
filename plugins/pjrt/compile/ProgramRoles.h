// The roles of a training step that JAX prints.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>

namespace st::pjrt {

/// The JSON that st-compile writes for the program with --roles-out (lib/Driver/Input/RolesFile.h).
/// An error is one line that names the place in the text.
absl::StatusOr<std::string> rolesOfProgram(absl::string_view text);

} // namespace st::pjrt

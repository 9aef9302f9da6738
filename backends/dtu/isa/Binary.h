// The binary form of a program, as it lies in the Executable (docs/dtu-isa.md).
#pragma once

#include "backends/dtu/isa/Isa.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>

namespace st::dtu {

std::string encode(const Program &program);

/// Decodes what encode() wrote. Any other bytes give InvalidArgument, never a crash or more memory
/// than a fixed multiple of the input; a decoded program is well-formed but need not be valid.
absl::StatusOr<Program> decode(absl::string_view bytes);

} // namespace st::dtu

// The binary form of a program, as stored in the Executable (docs/dtu-isa.md).
#pragma once

#include "backends/dtu/isa/Isa.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>

namespace st::dtu {

std::string encode(const Program &program);

/// Decodes the output of encode(). Returns InvalidArgument for all other bytes; decoding takes at
/// most a fixed multiple of the input's memory. A decoded program is well-formed but not
/// necessarily valid.
absl::StatusOr<Program> decode(absl::string_view bytes);

} // namespace st::dtu

// The assembler and the disassembler (docs/dtu-isa.md has the grammar).
#pragma once

#include "backends/dtu/isa/Isa.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>

namespace st::dtu {

std::string printProgram(const Program &program);
std::string printInstruction(const Instruction &instruction);

/// Parses the output of printProgram into the same program. Errors begin with the line number.
absl::StatusOr<Program> parseProgram(absl::string_view text);

} // namespace st::dtu

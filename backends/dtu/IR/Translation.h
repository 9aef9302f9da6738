// Lossless translation between the dtu dialect and the instruction set's in-memory form.
#pragma once

#include "backends/dtu/IR/DtuDialect.h"
#include "backends/dtu/isa/Isa.h"

#include "mlir/IR/Builders.h"

namespace mlir::dtu {

/// Builds a dtu.program at the builder's insertion point.
ProgramOp importProgram(OpBuilder &builder, Location loc, const ::st::dtu::Program &program);

/// The program that an op describes. Fails with a diagnostic if an attribute is not a valid field
/// of its instruction (unknown enumerators, registers out of range).
FailureOr<::st::dtu::Program> exportProgram(ProgramOp op);

/// st-translate's --import-dtu-assembly, --dtu-to-assembly and --dtu-to-binary.
void registerTranslations();

} // namespace mlir::dtu

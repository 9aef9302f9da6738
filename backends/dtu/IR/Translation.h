// Between the dtu dialect and the instruction set's in-memory form, both ways
// and exactly.
#pragma once

#include "backends/dtu/IR/DtuDialect.h"
#include "backends/dtu/isa/Isa.h"

#include "mlir/IR/Builders.h"

namespace mlir::dtu {

/// Builds a dtu.program at the builder's insertion point.
ProgramOp importProgram(OpBuilder &builder, Location loc, const ::st::dtu::Program &program);

/// The program an op stands for. Fails with a diagnostic on an op whose attributes are no fields of
/// its instruction (unknown enumerators, registers out of range).
FailureOr<::st::dtu::Program> exportProgram(ProgramOp op);

/// st-translate's --import-dtu-assembly, --dtu-to-assembly and --dtu-to-binary.
void registerTranslations();

} // namespace mlir::dtu

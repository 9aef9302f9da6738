// Inputs of a random program, the same on every machine.
#pragma once

#include "lib/Reference/Interpreter.h"

namespace mlir::st {

/// A value for each argument of `@main`, by its name in the interpreter. It depends only on the
/// name and the type, so a program that loses other arguments keeps it. Numbers are normally
/// distributed, integers small (below `st.limit` if present), an optimizer's state positive.
FailureOr<ref::NamedTensors> makeRandomInputs(ModuleOp module);

} // namespace mlir::st

// Inputs of a random program, the same on every machine.
#pragma once

#include "lib/Reference/Interpreter.h"

namespace mlir::st {

/// A value for each argument of `@main`, by the name that the interpreter knows it by. It follows
/// from the name and the type alone, so that a program that loses other arguments keeps it. Numbers
/// are normally distributed, integers small (below `st.limit` where there is one), an optimizer's
/// state positive.
FailureOr<ref::NamedTensors> makeRandomInputs(ModuleOp module);

} // namespace mlir::st

// Whether devices hold what is planned for them.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::st {

/// Checks that each device's memory holds the arenas of all its ranks, and its share of the host's
/// memory those that they have there, in a module whose programs
/// have their `st.arena_bytes` and `st.memory`. The error names the program, what it needs by class
/// and the cheapest change of the parallel file that makes room.
LogicalResult checkCapacity(ModuleOp module, TargetAttr target);

} // namespace mlir::st

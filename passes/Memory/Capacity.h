// Checks that devices have enough memory for their programs.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::st {

/// Checks, in a module whose programs have `st.arena_bytes` and `st.memory`, that each device's
/// memory holds the arenas of all its ranks, and that its share of the host's memory holds their
/// host arenas. The error names the program, its needs by class and the cheapest change of the
/// parallel file that frees enough memory.
LogicalResult checkCapacity(ModuleOp module, TargetAttr target);

} // namespace mlir::st

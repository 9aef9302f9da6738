// The patterns that st-reduce uses to shrink programs.
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::st {

/// Adds patterns to the StableHLO dialect for the pass `reduction-tree`. Erasing alone cannot
/// shrink a sequence of ops that all have users. So the patterns replace an op by one of its
/// operands, an argument or a constant, and remove results of a function and unused arguments, one
/// at a time, while the tester still finds the program interesting.
void registerReductionPatterns(DialectRegistry &registry);

} // namespace mlir::st

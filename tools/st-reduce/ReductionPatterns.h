// How st-reduce makes programs smaller.
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::st {

/// Adds patterns to the StableHLO dialect for the pass `reduction-tree`. Erasing alone cannot
/// shrink a chain of ops, each of which has a user; so an op becomes one of its operands, an
/// argument or a constant, and results of a function, and arguments without a use, go one by one as
/// long as the tester finds the rest interesting.
void registerReductionPatterns(DialectRegistry &registry);

} // namespace mlir::st

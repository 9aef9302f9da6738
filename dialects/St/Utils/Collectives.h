// The collectives of the st dialect.
#pragma once

namespace mlir {
class Operation;
} // namespace mlir

namespace mlir::st {

/// Returns true for the ops by which the devices of a mesh exchange data: all-reduce, all-gather,
/// reduce-scatter, all-to-all and collective-permute. An all-slice moves no data.
bool isCollective(Operation *op);

/// Returns true for the collectives that take several tensors: all-reduce, all-gather and
/// reduce-scatter.
bool isCombinableCollective(Operation *op);

} // namespace mlir::st

// The role of each op in mixed precision, in one table.
#pragma once

#include "mlir/IR/Operation.h"

namespace mlir::st {

/// After the lists of Micikevicius et al., "Mixed Precision Training", 2018, and of PyTorch's
/// autocast.
enum class OpPrecision {
  /// 16-bit operands and results, sums in f32: products.
  Narrow,
  /// The widest type of its operands; elementwise arithmetic.
  Follows,
  /// The type of its operand, which it only moves.
  Moves,
  /// f32: sums, functions that amplify a rounding error or overflow 16 bits, and ops that are not
  /// in the table.
  Wide,
};

OpPrecision getOpPrecision(Operation *op);

} // namespace mlir::st

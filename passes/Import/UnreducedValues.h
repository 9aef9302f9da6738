// Unreduced values: each device holds one term of a sum.
#pragma once

#include "dialects/Sdy/SdyDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Gives the arguments and results of @main that are unreduced over axes a leading dimension for
/// each of those, sharded by it: the terms of the sum. `sizes` are those of the axes `names`.
LogicalResult expandUnreducedPorts(func::FuncOp main, ArrayRef<StringAttr> names,
                                   ArrayRef<int64_t> sizes);

/// The terms of `value` along `count` new leading dimensions: the value itself first, then zeros.
/// Null for complex values.
Value emitTerms(OpBuilder &builder, Block *block, Location loc, Value value,
                ArrayRef<int64_t> counts);

} // namespace mlir::st

// Unreduced values: each device holds one term of a sum.
#pragma once

#include "dialects/Sdy/SdyDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Sums whose terms are known: unreduced arguments, and unreduced results of computations on
/// shards.
class UnreducedTerms {
public:
  /// `terms` has a leading dimension for each of `axes`.
  void add(Value sum, Value terms, ArrayRef<StringAttr> axes);
  /// The terms of `value` over `axes`, or null.
  Value find(Value value, ArrayRef<StringAttr> axes) const;

private:
  struct Entry {
    Value terms;
    SmallVector<StringAttr> axes;
  };
  DenseMap<Value, Entry> sums;
};

/// Gives each argument and result of @main that is unreduced over axes one leading dimension per
/// such axis, sharded by it: the terms of the sum. `sizes` are those of the axes `names`. The terms
/// of arguments are added to `terms`. Those of a result are looked up there; if they are not known,
/// the first is the value and the others are zeros.
LogicalResult expandUnreducedArguments(func::FuncOp main, ArrayRef<StringAttr> names,
                                       ArrayRef<int64_t> sizes, UnreducedTerms &terms);
LogicalResult expandUnreducedResults(func::FuncOp main, ArrayRef<StringAttr> names,
                                     ArrayRef<int64_t> sizes, const UnreducedTerms &terms);

/// The terms of `value` along new leading dimensions of sizes `counts`: the value itself first,
/// then zeros. Null for complex values.
Value emitTerms(OpBuilder &builder, Block *block, Location loc, Value value,
                ArrayRef<int64_t> counts);

} // namespace mlir::st

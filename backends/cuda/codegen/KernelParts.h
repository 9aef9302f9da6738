// Taking a kernel apart into several.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::cuda {

/// A value inside a kernel that lies in memory outside of it.
struct Cut {
  Value inside, outside;
};

/// A kernel of those ops of another one's body that `outputs` need. What is cut is an argument of
/// the new kernel, and what only it needs is left out.
st::KernelOp makePart(OpBuilder &builder, st::KernelOp whole, StringRef kind,
                      ArrayRef<Value> outputs, ArrayRef<Cut> cuts);

/// A value with elements of another float type, by a kernel before `user`.
Value makeConversion(OpBuilder &builder, st::KernelOp user, Value value, Type element);

} // namespace mlir::cuda

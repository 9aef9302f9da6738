// Splits a kernel into several.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::cuda {

/// A value inside a kernel that is also in memory outside of it.
struct Cut {
  Value inside, outside;
};

/// Creates a kernel of the ops in another one's body that `outputs` need. The cut values are
/// arguments of the new kernel; ops that only they need are left out.
st::KernelOp makePart(OpBuilder &builder, st::KernelOp whole, StringRef kind,
                      ArrayRef<Value> outputs, ArrayRef<Cut> cuts);

/// Replaces a kernel by one that reads the cut values from memory. Returns null if no other result
/// remains.
st::KernelOp splitKernel(st::KernelOp kernel, StringRef kind, ArrayRef<Cut> cuts);

/// Fails with an error that names `pass` if plan-memory has placed the kernel's results: a pass
/// that changes kernels must run before it.
LogicalResult checkUnplanned(st::KernelOp kernel, StringRef pass);

/// Builds the result of a kernel from its arguments.
using KernelBody = llvm::function_ref<Value(OpBuilder &, ValueRange)>;

/// Creates a kernel before `user` and returns its result.
Value makeKernel(OpBuilder &builder, st::KernelOp user, StringRef kind, ValueRange inputs,
                 Type type, KernelBody body);

/// Converts a value to another float type with a kernel before `user`.
Value makeConversion(OpBuilder &builder, st::KernelOp user, Value value, Type element);

} // namespace mlir::cuda

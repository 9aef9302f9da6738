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

/// Replaces a kernel by one whose results are the same and of which some values lie in memory. Null
/// where these are all that it made.
st::KernelOp cutKernel(st::KernelOp kernel, StringRef kind, ArrayRef<Cut> cuts);

/// Writes what a kernel makes of its arguments.
using KernelBody = llvm::function_ref<Value(OpBuilder &, ValueRange)>;

/// The result of a kernel before `user`.
Value makeKernel(OpBuilder &builder, st::KernelOp user, StringRef kind, ValueRange inputs,
                 Type type, KernelBody body);

/// A value with elements of another float type, by a kernel before `user`.
Value makeConversion(OpBuilder &builder, st::KernelOp user, Value value, Type element);

} // namespace mlir::cuda

// Splits a kernel into several.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::st {

/// Marks kernels of kind "attention" whose rows pass through a core's memory in blocks.
constexpr StringLiteral kStreamedAttr = "st.streamed";

/// Marks kernels of kind "attention" whose rows are parts of longer ones. Masks may hide a part
/// completely, but not the row: such a part has no weight.
constexpr StringLiteral kPartialRowsAttr = "st.partial_rows";

/// A value inside a kernel that is also in memory outside of it.
struct Cut {
  Value inside, outside;
};

/// Creates a kernel of the ops in another one's body that `outputs` need. The cut values are
/// arguments of the new kernel; ops that only they need are left out.
KernelOp makePart(OpBuilder &builder, KernelOp source, StringRef kind, ArrayRef<Value> outputs,
                  ArrayRef<Cut> cuts);

/// Replaces a kernel by one that reads the cut values from memory. Returns null if no other result
/// remains.
KernelOp splitKernel(KernelOp source, StringRef kind, ArrayRef<Cut> cuts);

/// Fails with an error that names `pass` if plan-memory has placed the kernel's results: a pass
/// that changes kernels must run before it.
LogicalResult checkUnplanned(KernelOp kernel, StringRef pass);

/// Builds the result of a kernel from its arguments.
using MakeBody = llvm::function_ref<Value(OpBuilder &, ValueRange)>;

/// Creates a kernel before `user` and returns its result.
Value makeKernel(OpBuilder &builder, KernelOp user, StringRef kind, ValueRange inputs, Type type,
                 MakeBody body);

} // namespace mlir::st

// Splits a kernel into several, and adds kernels of one op.
#pragma once

#include "dialects/St/Utils/KernelParts.h"

namespace mlir::cuda {

using st::checkUnplanned;
using st::Cut;
using st::makeKernel;
using st::makePart;
using st::splitKernel;

/// Converts a value to another float type with a kernel before `user`.
Value makeConversion(OpBuilder &builder, st::KernelOp user, Value value, Type element);

} // namespace mlir::cuda

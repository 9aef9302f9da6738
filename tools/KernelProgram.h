// Programs of kernels that tests write by hand, made complete enough to run.
#ifndef ST_TOOLS_KERNELPROGRAM_H
#define ST_TOOLS_KERNELPROGRAM_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// A function @main of kernels becomes a program of one task on one device; its arguments are the
/// inputs arg0, arg1, ... and its results the outputs result0, ... A program without a schedule
/// runs its tasks in order. What has no address gets one of its own: no place is used twice, so
/// that tests of code generation need no plan.
void completePrograms(ModuleOp module);

/// The bytes that a value of this tensor type takes.
int64_t tensorBytes(Type type);

} // namespace mlir::st

#endif // ST_TOOLS_KERNELPROGRAM_H

// Completes hand-written kernel programs of tests so that they can run.
#ifndef ST_TOOLS_KERNELPROGRAM_H
#define ST_TOOLS_KERNELPROGRAM_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// A function @main of kernels becomes a program of one task on one device; its arguments are the
/// inputs arg0, arg1, ... and its results the outputs result0, ... A program without a schedule
/// runs its tasks in order. A value without an address gets a separate one: no memory is reused, so
/// tests of code generation need no plan.
void completePrograms(ModuleOp module);

/// The bytes of a value of this tensor type.
int64_t tensorBytes(Type type);

} // namespace mlir::st

#endif // ST_TOOLS_KERNELPROGRAM_H

// The programs of a binary other than its training step, over the same states.
#ifndef ST_DRIVER_EVALUATION_OTHERPROGRAMS_H
#define ST_DRIVER_EVALUATION_OTHERPROGRAMS_H

#include "lib/Driver/Compiler.h"
#include "lib/Driver/Evaluation/TrainedLayout.h"

namespace mlir::st {

/// Returns true if the binary gets other programs over the same states.
bool hasOtherPrograms(const CompileRequest &request);

/// Compiles the requested evaluation and steps of smaller batches, in the layout of the training
/// step, and adds them to its executable.
LogicalResult addOtherPrograms(const CompileRequest &request, const TrainedLayout &layout,
                               MLIRContext *context, ::st::proto::Executable &executable);

} // namespace mlir::st

#endif // ST_DRIVER_EVALUATION_OTHERPROGRAMS_H

// The work of a step, computed from its compiled programs.
#ifndef ST_DRIVER_GATHERWORK_H
#define ST_DRIVER_GATHERWORK_H

#include "lib/Planner/Step/Blocks.h"
#include "lib/Proto/work.pb.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Sums up the programs of a module with split tasks (phase `tasks`) and one device group. Ops
/// between products and collectives count as one if they are in one layer of the front end (one
/// scope of their locations) and share values. Views and constants cost nothing. A value that
/// exists in 16 bits and in f32 counts with 16 bits. `model` has the kind of each block.
::st::proto::ProgramWork gatherWork(ModuleOp module, const ::st::PlannedModel &model);

} // namespace mlir::st

#endif // ST_DRIVER_GATHERWORK_H

// The work of a step, read off the programs that its passes made.
#ifndef ST_DRIVER_GATHERWORK_H
#define ST_DRIVER_GATHERWORK_H

#include "lib/Proto/work.pb.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Sums up the programs of a module whose tasks are split (phase `tasks`), one device group. Ops
/// between products and collectives that one layer of the front end made (one scope of their
/// locations) and that share values count as one. Views and constants cost nothing. A value that the program has
/// in 16 bits as well as in f32 counts with 16.
::st::proto::ProgramWork gatherWork(ModuleOp module);

} // namespace mlir::st

#endif // ST_DRIVER_GATHERWORK_H

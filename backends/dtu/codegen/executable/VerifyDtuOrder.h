// Emitted programs proven free of deadlock and of races.
#pragma once

#include "lib/Proto/executable.pb.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dtu {

/// Instructions that the proofs of a compilation follow.
constexpr int64_t kOrderWork = 30'000'000;

/// Proves the programs of a module's executable (ExecutableOrder.h). Fails with one diagnostic;
/// `remarks`: says where work did not suffice for all runs.
LogicalResult verifyOrder(ModuleOp module, const ::st::proto::Executable &executable, int64_t work,
                          bool remarks);

} // namespace mlir::dtu

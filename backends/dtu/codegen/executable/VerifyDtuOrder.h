// Proves emitted programs free of deadlocks and races.
#pragma once

#include "lib/Proto/executable.pb.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dtu {

/// The budget of a compilation's proofs, in instructions.
constexpr int64_t kOrderWork = 30'000'000;

/// Proves the programs of a module's executable (ExecutableOrder.h). Fails with one diagnostic.
/// `remarks`: reports runs that the budget did not cover.
LogicalResult verifyOrder(ModuleOp module, const ::st::proto::Executable &executable, int64_t work,
                          bool remarks);

} // namespace mlir::dtu

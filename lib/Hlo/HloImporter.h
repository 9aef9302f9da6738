// From XLA's HLO to StableHLO.
#pragma once

#include "lib/Proto/hlo.pb.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::st {

/// Reads an HloModuleProto, binary or in text form. Null, with a diagnostic at `name`,
/// where it is neither.
std::unique_ptr<::st::hlo::Module> parseHloModule(StringRef bytes, StringRef name,
                                                  MLIRContext *context);

/// Builds `@main` of the entry computation: one argument a parameter, one result an
/// element of the root's tuple; called computations are inlined or become regions.
/// Locations are the instructions' `op_name`s. Null, with a diagnostic that names the
/// instruction, where the module is damaged or uses what cannot be imported.
OwningOpRef<ModuleOp> importHloModule(const ::st::hlo::Module &module, MLIRContext *context);

} // namespace mlir::st
